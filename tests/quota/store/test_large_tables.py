"""The rows that a request reads of a store with 100 000 rows of each kind: a few, on one host and on several."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from quota.accounts import Account, dump
from quota.ledger import account_rows, activity, people, row_format, tickets
from quota.ledger.people import Person
from quota.ledger.row_format import WriteTransaction
from quota.ledger.tickets import Ticket
from quota.ledger.upkeep import migrate
from quota.new_values import new_person, token_digest
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

MANY: Final = 100_000
NOW: Final = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND: Final = int(NOW.timestamp())
MINE: Final = "a_mine00000000"
# Rows that a form or a page may read of a store, whatever is in it.
FEW: Final = 120


class Counted:
    """A transaction that counts the rows that it hands out."""

    def __init__(self, txn: WriteTransaction) -> None:
        self.rows = 0
        self._txn = txn
        self.put, self.delete, self.expect = txn.put, txn.delete, txn.expect

    def get(self, key: bytes, /) -> bytes | None:
        self.rows += 1
        return self._txn.get(key)

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        for row in self._txn.scan(prefix):
            self.rows += 1
            yield row


def fill(txn: WriteTransaction) -> None:
    """Write MANY organisations' people, mails that are not due yet, sent ones and sealed keys."""
    for number in range(MANY):
        account, name = f"a_{number:012}", f"p_{number:012}"
        person = Person(name, f"p{number}@exemple.fr", account, "hash", "2026-01-01")
        people._put(txn, person)
        state = tickets.WAITING if number % 2 else tickets.SENT
        later = SECOND + 600 + number
        ticket = Ticket(
            f"t_{number:012}", tickets.PASSWORD, account, name, person.email, "", "fr",
            SECOND - 60, SECOND + 80_000, state, next_attempt=later,
        )  # fmt: skip
        tickets._enter(txn, None, ticket, number.to_bytes(32))
        activity.keep_sealed(txn, number.to_bytes(32), b"sealed", SECOND)
    txn.put(row_format.ACCOUNT + MINE.encode(), dump(Account(MINE, "", "free", False, (), "2026")))
    for number in range(3):
        people._put(txn, Person(f"p_mine{number}", f"m{number}@exemple.fr", MINE, "", "2026"))


def asked(email: str) -> Ticket:
    return Ticket(
        "t_new", tickets.PASSWORD, "", "", email, "", "fr", SECOND, SECOND + 86_400, tickets.WAITING
    )


INVITED: Final = Ticket(
    "t_inv", tickets.INVITATION, MINE, "", "new@exemple.fr", "membre", "fr", SECOND,
    SECOND + 86_400, tickets.WAITING,
)  # fmt: skip

QUESTIONS: Final[dict[str, Callable[[Any], object]]] = {
    "lost, known": lambda txn: tickets.ask_for_link(txn, asked("p7@exemple.fr"), b"1" * 32),
    "lost, unknown": lambda txn: tickets.ask_for_link(txn, asked("nobody@b.fr"), b"2" * 32),
    "invite": lambda txn: tickets.issue(txn, INVITED, b"3" * 32),
    "is due": lambda txn: tickets.is_due(txn, SECOND),
    "claim": lambda txn: tickets.claim(txn, b"4" * 32, SECOND),
    "open a link": lambda txn: tickets.open_ticket(txn, b"1" * 32, tickets.PASSWORD, SECOND),
    "tickets of an account": lambda txn: tickets.of_account(txn, MINE, SECOND),
    "use a link": lambda txn: tickets.set_password(txn, b"1" * 32, "new", SECOND),
    "members": lambda txn: people.people_of(txn, MINE),
    "number of members": lambda txn: people.count_of(txn, MINE),
    "role": lambda txn: people.set_role(txn, MINE, "p_mine1", people.MEMBER),
    "remove": lambda txn: people.remove_person(txn, MINE, "p_mine2"),
    "seal a key": lambda txn: activity.keep_sealed(txn, b"5" * 32, b"x", SECOND),
    "seal when all are over": lambda txn: activity.keep_sealed(txn, b"6" * 32, b"x", SECOND + 900),
}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LmdbStore]:
    store = LmdbStore(tmp_path_factory.mktemp("full"))
    store.submit(fill).result()
    yield store
    store.close()


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_request_reads_a_few_rows_of_many(full: LmdbStore, question: str) -> None:
    def counted(txn: WriteTransaction) -> int:
        rows = Counted(txn)
        QUESTIONS[question](rows)
        return rows.rows

    assert full.submit(counted).result() <= FEW


def test_what_one_account_or_person_can_pile_up_has_a_bound() -> None:
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
    last = (people.SESSIONS_MOST + 49).to_bytes(4)
    assert store.read(people.in_session, person.id, last, seconds(NOW)).result()
    keys = store.read(account_rows.keys_of, account).result()
    assert len(keys) == account_rows.REVOKED_KEPT
    assert keys[-1].id == key.id
    for table in (row_format.KEY, row_format.KEY_ID, row_format.KEY_OF):
        assert len(store.table_rows(table)) == account_rows.REVOKED_KEPT


def _as_version_1(rows: dict[bytes, bytes], token: bytes) -> dict[bytes, bytes]:
    """The rows as the version before wrote them: without what this one adds."""
    added = (row_format.MEMBER_OF, row_format.TICKET_OF, row_format.AGENDA, row_format.AGENDA_FROM)
    old = {key: value for key, value in rows.items() if not key.startswith(added)}
    for key, value in old.items():
        if key.startswith(row_format.TOKEN):
            old[key] = value.partition(b"/")[0]
        if key.startswith(row_format.TICKET):
            begin, _, _ = value.partition(b',"asked"')
            old[key] = begin + b"}"
    # An address that nobody has: what questions of strangers left.
    nobody = asked("nobody@exemple.fr")
    old[row_format.TICKET + b"t_nobody"] = (
        b'{"id":"t_nobody","kind":"mot_de_passe","account":"","person":"","email":"nobody@exemple.fr",'
        b'"role":"","lang":"fr","created":1,"expires":%d}' % nobody.expires
    )
    old[row_format.TOKEN + token] = b"t_nobody"
    return old | {row_format.FORMAT: b"1"}


def _old_store() -> tuple[dict[bytes, bytes], str, str]:
    store = DictStore()
    account = create_account(store, "data", PLANS, NOW).result().id
    store.submit(people.add_person, new_person(account, "a@exemple.fr", "hash", NOW)).result()
    store.submit(people.add_person, new_person(account, "b@exemple.fr", "hash", NOW)).result()
    _, token = ask_for_password(store, "a@exemple.fr", NOW, mail=False).result()
    invite(store, account, "c@exemple.fr", "membre", NOW, mail=True).result()
    seal_key(store, "text", b"session", NOW).result()
    kept: DictRows = store._file  # type: ignore[assignment]
    return _as_version_1(kept.rows, b"9" * 32), account, token


def _check_migrated(store: LmdbStore | RedisStore, account: str, token: str) -> None:
    found = store.read(people.people_of, account).result()
    assert [one.email for one in found] == ["a@exemple.fr", "b@exemple.fr"]
    assert {
        one.email for one in store.read(tickets.of_account, account, seconds(NOW)).result()
    } == {
        "a@exemple.fr",
        "c@exemple.fr",
    }
    claimed, _ = claim(store, NOW).result()
    assert claimed is not None
    assert claimed.email == "c@exemple.fr"
    assert store.submit(tickets.set_password, token_digest(token), "new", seconds(NOW)).result()
    assert b"nobody" not in b"".join(value for _, value in store.table_rows(row_format.TICKET))
    assert len(list(store.table_rows(row_format.TOKEN))) == 1


def test_a_store_of_version_1_goes_on_working(tmp_path: Path) -> None:
    rows, account, token = _old_store()
    store = LmdbStore(tmp_path)
    store.submit(lambda txn: [txn.put(key, value) for key, value in rows.items()]).result()
    store.close()

    for _ in range(2):
        opened = LmdbStore(tmp_path)
        if not opened.read(
            tickets.open_ticket, token_digest(token), tickets.PASSWORD, seconds(NOW)
        ).result():
            pytest.fail("the link of version 1 no longer works")
        opened.submit(migrate).result()  # changes nothing a second time
        opened.close()
    opened = LmdbStore(tmp_path)
    _check_migrated(opened, account, token)
    opened.close()


def test_a_server_with_rows_of_version_1_goes_on_working() -> None:
    rows, account, token = _old_store()
    with running("redis") as server:
        store = RedisStore(server.url, create=True)
        store.submit(lambda txn: [txn.put(key, value) for key, value in rows.items()]).result()
        store.close()
        opened = RedisStore(server.url, create=True)
        _check_migrated(opened, account, token)
        opened.close()
