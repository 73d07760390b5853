"""A request reads few rows of a store with 100 000 rows of each kind, on one host and on several hosts."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from quota.accounts import Account, dump
from quota.credentials import secret_digest
from quota.ledger import account_rows, activity, people, row_format, tickets
from quota.ledger.people import Person
from quota.ledger.row_format import WriteTransaction
from quota.ledger.tickets import Ticket
from quota.ledger.upkeep import migrate
from quota.new_values import new_person
from quota.periods import iso, seconds
from quota.redis.store import RedisStore
from quota.store.lmdb_store import LmdbStore
from tests.quota.dict_store import DictRows, DictStore
from tests.quota.filling import (
    ask_for_password,
    claim,
    create_account,
    create_key,
    invite,
    seal_key,
)
from tests.quota.servers import running
from tests.quota.small import PLANS

MANY: Final = 100_000  # rows of each kind
NOW: Final = datetime(2026, 11, 21, 12, tzinfo=UTC)
NOW_S: Final = int(NOW.timestamp())
ACCOUNT_ID: Final = "a_mine00000000"  # an account with three people
# The most rows that a form or a page can read, whatever the size of the store.
ROWS_MOST: Final = 120


class CountingTransaction:
    """A transaction that counts the rows that it returns."""

    def __init__(self, txn: WriteTransaction) -> None:
        self.rows_read = 0
        self._txn = txn
        self.put, self.delete, self.expect = txn.put, txn.delete, txn.expect

    def get(self, key: bytes, /) -> bytes | None:
        """Read the row of a key; a key without a row counts, too."""
        self.rows_read += 1
        return self._txn.get(key)

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        """Read the rows that begin with the prefix, and count those that are taken."""
        for row in self._txn.scan(prefix):
            self.rows_read += 1
            yield row


def fill(txn: WriteTransaction) -> None:
    """Make the tables large: a person, a mail (not due yet or sent) and a sealed key of each of MANY accounts.

    Also writes the account ACCOUNT_ID with three members, which a test must find among these rows.
    """
    for number in range(MANY):
        account, name = f"a_{number:012}", f"p_{number:012}"
        person = Person(name, f"p{number}@exemple.fr", account, "hash", "2026-01-01")
        people._store_person(txn, person)
        state = tickets.WAITING if number % 2 else tickets.SENT
        later = NOW_S + 600 + number
        ticket = Ticket(
            f"t_{number:012}", tickets.PASSWORD, account, name, person.email, "", "fr",
            NOW_S - 60, NOW_S + 80_000, state, next_attempt=later,
        )  # fmt: skip
        tickets._store_ticket(txn, None, ticket, number.to_bytes(32))
        activity.keep_sealed(txn, number.to_bytes(32), b"sealed", NOW_S)
    txn.put(
        row_format.ACCOUNT + ACCOUNT_ID.encode(),
        dump(Account(ACCOUNT_ID, "", "free", False, (), "2026")),
    )
    for number in range(3):
        people._store_person(
            txn, Person(f"p_mine{number}", f"m{number}@exemple.fr", ACCOUNT_ID, "", "2026")
        )


def ticket_for_password(email: str) -> Ticket:
    """The ticket of a request for a new password."""
    return Ticket(
        "t_new", tickets.PASSWORD, "", "", email, "", "fr", NOW_S, NOW_S + 86_400, tickets.WAITING
    )


# An invitation to the account ACCOUNT_ID, whose mail waits.
INVITATION: Final = Ticket(
    "t_inv", tickets.INVITATION, ACCOUNT_ID, "", "new@exemple.fr", "membre", "fr", NOW_S,
    NOW_S + 86_400, tickets.WAITING,
)  # fmt: skip

# The store operations of forms, links and pages, by a name for the test; each must read only a few rows.
REQUESTS: Final[dict[str, Callable[[Any], object]]] = {
    "lost, known": lambda txn: tickets.ask_for_link(
        txn, ticket_for_password("p7@exemple.fr"), b"1" * 32
    ),
    "lost, unknown": lambda txn: tickets.ask_for_link(
        txn, ticket_for_password("nobody@b.fr"), b"2" * 32
    ),
    "invite": lambda txn: tickets.issue(txn, INVITATION, b"3" * 32),
    "is due": lambda txn: tickets.is_due(txn, NOW_S),
    "claim": lambda txn: tickets.claim_mail(txn, b"4" * 32, NOW_S),
    "open a link": lambda txn: tickets.open_ticket(txn, b"1" * 32, tickets.PASSWORD, NOW_S),
    "tickets of an account": lambda txn: tickets.valid_tickets(txn, ACCOUNT_ID, NOW_S),
    "use a link": lambda txn: tickets.set_password(txn, b"1" * 32, "new", NOW_S),
    "members": lambda txn: people.people_of(txn, ACCOUNT_ID),
    "number of members": lambda txn: people.count_people(txn, ACCOUNT_ID),
    "role": lambda txn: people.set_role(txn, ACCOUNT_ID, "p_mine1", people.MEMBER),
    "remove": lambda txn: people.remove_person(txn, ACCOUNT_ID, "p_mine2"),
    "seal a key": lambda txn: activity.keep_sealed(txn, b"5" * 32, b"x", NOW_S),
    "seal when all are over": lambda txn: activity.keep_sealed(txn, b"6" * 32, b"x", NOW_S + 900),
}


@pytest.fixture(scope="module")
def full_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LmdbStore]:
    """A store with the rows of `fill`."""
    store = LmdbStore(tmp_path_factory.mktemp("full"))
    store.submit(fill).result()
    yield store
    store.close()


@pytest.mark.parametrize("request_name", REQUESTS)
def test_a_request_reads_a_few_rows_of_many(full_store: LmdbStore, request_name: str) -> None:
    def rows_read(txn: WriteTransaction) -> int:
        """The rows that the request reads."""
        txn_with_count = CountingTransaction(txn)
        REQUESTS[request_name](txn_with_count)
        return txn_with_count.rows_read

    assert full_store.submit(rows_read).result() <= ROWS_MOST


def test_old_sessions_and_revoked_keys_are_deleted_beyond_their_limits() -> None:
    """50 sessions and 20 revoked keys too many are created; the newest are kept"""
    store = DictStore()
    account = create_account(store, "data", PLANS, NOW).result().id
    person = store.submit(
        people.add_person, new_person(account, "a@exemple.fr", "hash", NOW)
    ).result()

    for number in range(people.SESSIONS_MOST + 50):
        end = NOW + timedelta(days=14, seconds=number)
        store.submit(
            people.open_session, person.id, number.to_bytes(4), seconds(NOW), seconds(end)
        ).result()
        if number < account_rows.REVOKED_KEPT + 20:
            moment = NOW + timedelta(seconds=number)
            key, _ = create_key(store, account, PLANS, moment).result()
            store.submit(account_rows.revoke_key, key.id, iso(moment)).result()

    assert len(store.table_rows(row_format.SESSION)) == people.SESSIONS_MOST
    last_token = (people.SESSIONS_MOST + 49).to_bytes(4)
    assert store.read(people.person_of_session, person.id, last_token, seconds(NOW)).result()
    keys = store.read(account_rows.keys_of, account).result()
    assert len(keys) == account_rows.REVOKED_KEPT
    assert keys[-1].id == key.id
    for table in (row_format.KEY, row_format.KEY_ID, row_format.KEY_OF):
        assert len(store.table_rows(table)) == account_rows.REVOKED_KEPT


def _rows_of_version_1(rows: dict[bytes, bytes], token: bytes) -> dict[bytes, bytes]:
    """The rows as version 1 wrote them, without the tables and fields that version 2 adds."""
    new_tables = (
        row_format.MEMBER_OF,
        row_format.TICKET_OF,
        row_format.AGENDA,
        row_format.AGENDA_FROM,
    )
    old_rows = {key: value for key, value in rows.items() if not key.startswith(new_tables)}
    for key, value in old_rows.items():
        if key.startswith(row_format.TOKEN):
            old_rows[key] = value.partition(b"/")[0]
        if key.startswith(row_format.TICKET):
            fields_before, _, _ = value.partition(b',"asked"')
            old_rows[key] = fields_before + b"}"
    # Version 1 also wrote a ticket if a stranger asked for a password with an unknown address.
    unknown_address = ticket_for_password("nobody@exemple.fr")
    old_rows[row_format.TICKET + b"t_nobody"] = (
        b'{"id":"t_nobody","kind":"mot_de_passe","account":"","person":"","email":"nobody@exemple.fr",'
        b'"role":"","lang":"fr","created":1,"expires":%d}' % unknown_address.expires
    )
    old_rows[row_format.TOKEN + token] = b"t_nobody"
    return old_rows | {row_format.FORMAT: b"1"}


def _store_of_version_1() -> tuple[dict[bytes, bytes], str, str]:
    """The rows of a store of version 1, the id of its account, and the token of a link for a password."""
    store = DictStore()
    account = create_account(store, "data", PLANS, NOW).result().id
    store.submit(people.add_person, new_person(account, "a@exemple.fr", "hash", NOW)).result()
    store.submit(people.add_person, new_person(account, "b@exemple.fr", "hash", NOW)).result()
    _, token = ask_for_password(store, "a@exemple.fr", NOW, mail=False).result()
    invite(store, account, "c@exemple.fr", "membre", NOW, mail=True).result()
    seal_key(store, "text", b"session", NOW).result()
    dict_rows: DictRows = store._file  # type: ignore[assignment]
    return _rows_of_version_1(dict_rows.rows, b"9" * 32), account, token


def _check_migrated(store: LmdbStore | RedisStore, account: str, token: str) -> None:
    """Check that people, tickets and links of version 1 still work, and that unknown addresses are gone."""
    members = store.read(people.people_of, account).result()
    assert [member.email for member in members] == ["a@exemple.fr", "b@exemple.fr"]
    assert {
        member.email for member in store.read(tickets.valid_tickets, account, seconds(NOW)).result()
    } == {
        "a@exemple.fr",
        "c@exemple.fr",
    }
    claimed, _ = claim(store, NOW).result()
    assert claimed is not None
    assert claimed.email == "c@exemple.fr"
    assert store.submit(tickets.set_password, secret_digest(token), "new", seconds(NOW)).result()
    assert b"nobody" not in b"".join(value for _, value in store.table_rows(row_format.TICKET))
    assert len(list(store.table_rows(row_format.TOKEN))) == 1


def test_a_store_of_version_1_still_works(tmp_path: Path) -> None:
    rows, account, token = _store_of_version_1()
    store = LmdbStore(tmp_path)
    store.submit(lambda txn: [txn.put(key, value) for key, value in rows.items()]).result()
    store.close()

    for _ in range(2):  # a second migration changes nothing
        opened = LmdbStore(tmp_path)
        if not opened.read(
            tickets.open_ticket, secret_digest(token), tickets.PASSWORD, seconds(NOW)
        ).result():
            pytest.fail("the link of version 1 no longer works")
        opened.submit(migrate).result()
        opened.close()
    opened = LmdbStore(tmp_path)
    _check_migrated(opened, account, token)
    opened.close()


def test_a_server_with_rows_of_version_1_still_works() -> None:
    rows, account, token = _store_of_version_1()
    with running("redis") as server:
        store = RedisStore(server.url, create=True)
        store.submit(lambda txn: [txn.put(key, value) for key, value in rows.items()]).result()
        store.close()
        opened = RedisStore(server.url, create=True)
        _check_migrated(opened, account, token)
        opened.close()
