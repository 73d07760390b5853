"""Any mix of the operations of a store, over accounts, days and months, against the model.

The clock is drawn too: it jumps to the edges of days, months, a leap February and a year, and it
steps back, in any time zone. Tests run it over a dict, over LMDB, and over Redis and Valkey.
"""

from datetime import datetime, timedelta, timezone

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from quota import credentials
from quota.accounts import Key
from quota.credentials import ADDRESS_PREFIX, PREFIX
from quota.errors import NotAllowedError, UnknownError
from quota.ledger import account_rows, activity, calls, row_format
from quota.ledger.account_rows import ADDRESSES, KEYS, KeyKind
from quota.ledger.calls import Purchase
from quota.ledger.exports import Refusal, Reservation
from quota.periods import iso, months_before
from quota.redis.store import RedisStore
from quota.store.future import StoreFuture
from quota.store.lmdb_store import LmdbStore
from tests.quota.filling import create_account, create_key
from tests.quota.model import PACK, PACKS, Model
from tests.quota.people_machine import PeopleAgainstModel
from tests.quota.small import MOMENTS, SMALL

# Companies as charges name them: country, slash, identifier.
COMPANIES = ["EE/10000018", "UK/00944111", "FR/Société Générale", "PL/Żabka"]
# The table of a key or a reconciliation address, by the prefix of its text.
_KIND_OF_PREFIX = {PREFIX: KEYS, ADDRESS_PREFIX: ADDRESSES}
SLUGS = ["free", "data", "corporate", "marches", "integral", "carte"]

account_indexes = st.integers(0, 2)  # the position of an account in `self.names`
slugs = st.sampled_from(SLUGS)
company_lists = st.lists(st.sampled_from(COMPANIES), max_size=5)


class StoreAgainstModel(PeopleAgainstModel):
    """The rules of a state machine; a subclass opens `self.store` and implements `rows`."""

    store: LmdbStore | RedisStore

    @initialize(
        moment=st.sampled_from(MOMENTS),
        plans=st.tuples(slugs, slugs, slugs),
        packs=st.sampled_from([0, PACKS - 4]),
    )
    def begin(self, moment: datetime, plans: tuple[str, str, str], packs: int) -> None:
        """Create three accounts with these plans, in store and model; the first has bought `packs` credits."""
        self.now = moment
        self.model = Model()
        self.reserved: list[Reservation] = []
        self.names = [
            create_account(self.store, plan, SMALL, self.now, nom="Żabka").result().id
            for plan in plans
        ]
        self.model.plan = dict(zip(self.names, plans, strict=True))
        # The packs are stored as a row, because an example is too short to buy so many.
        packs_row = row_format.join(row_format.PACKS, self.names[0]), row_format.pack_pair(packs, 0)
        self.store.submit(lambda txn: txn.put(*packs_row)).result()
        self.model.packs[self.names[0]] = self.model.bought[self.names[0]] = packs

    # -- the clock -----------------------------------------------------------------

    @rule(moment=st.sampled_from(MOMENTS))
    def jump(self, moment: datetime) -> None:
        """Set the clock to a moment at the edge of a day, a month or a year."""
        self.now = moment

    @rule(seconds=st.integers(-90_000, 90_000))
    def step(self, seconds: int) -> None:
        """Move the clock on or back by up to 25 hours."""
        self.now += timedelta(seconds=seconds)

    @rule(hours=st.integers(-12, 14))
    def travel(self, hours: int) -> None:
        """Express the same moment in another time zone."""
        self.now = self.now.astimezone(timezone(timedelta(hours=hours)))

    # -- calls and credits ---------------------------------------------------------

    @rule(index=account_indexes)
    def take(self, index: int) -> None:
        """Count a call of the day; the store grants it, and counts as many calls of the day, as the model does."""
        account, plan = self.names[index], SMALL[self.model.plan[self.names[index]]]
        granted = self.model.take(account, plan.appels_api_par_jour, self.now)

        meter = self.store.take(account, plan.appels_api_par_jour, self.now).result()

        assert meter.granted is granted
        assert meter.used == self.model.calls[account, self.model.day(self.now)]
        assert not granted or meter.used <= meter.limit

    @rule(index=account_indexes)
    def give_back(self, index: int) -> None:
        """Undo a call of today, if one was counted, in the model and in the store."""
        self.model.give_back(self.names[index], self.now)

        self.store.give_back(self.names[index], self.now).result()

    @rule(
        index=account_indexes,
        company=st.sampled_from(COMPANIES),
        cost=st.sampled_from([5, 5, 5, 1, 8]),
    )
    def read_a_company(self, index: int, company: str, cost: int) -> None:
        """Count a call and charge a company, as the model does; a company is charged only once a month.

        `cost` is in credits, mostly the 5 of a record. A refused call charges nothing.
        """
        account, plan = self.names[index], SMALL[self.model.plan[self.names[index]]]
        grant = plan.credits_par_mois
        granted = self.model.take(account, plan.appels_api_par_jour, self.now)
        left = self.model.credits_left(account, grant, self.now)
        outcome = self.model.charge(account, company, cost, grant, self.now) if granted else None

        meter, charge = self.store.take_and_charge(
            Purchase(account, plan.appels_api_par_jour, company, cost, grant), self.now
        ).result()

        assert meter.granted is granted
        assert (charge.outcome if charge else None) == outcome
        if charge:
            assert charge.cost == (cost if outcome == "charged" else 0)
            assert (
                charge.left
                == left - charge.cost
                == self.model.credits_left(account, grant, self.now)
            )

    @rule(
        index=account_indexes, subject=st.sampled_from([*COMPANIES, "entreprise/EE/1", "marche/a"])
    )
    def try_an_analysis(self, index: int, subject: str) -> None:
        """Use one of the two trials of a month; a call that is refused for lack of a trial is not counted."""
        account, plan = self.names[index], SMALL[self.model.plan[self.names[index]]]
        granted = self.model.take(account, plan.appels_api_par_jour, self.now)
        outcome = self.model.try_analysis(account, subject, 2, self.now) if granted else None
        if outcome == "no_trial":
            self.model.give_back(account, self.now)

        meter, charge = self.store.take_and_charge(
            Purchase(account, plan.appels_api_par_jour, subject, 0, plan.credits_par_mois, 2),
            self.now,
        ).result()

        assert (charge.outcome if charge else None) == outcome
        assert charge is None or charge.cost == 0
        usage = self.store.usage(account, plan, self.now).result()
        assert usage.trials.used == self.model.trials[account, self.model.month(self.now)]
        assert usage.calls.used == meter.used == self.model.calls[account, self.model.day(self.now)]

    @rule(
        index=account_indexes, count=st.integers(1, 9) | st.sampled_from([0, PACK, PACK + 1, 2**64])
    )
    def add_credits(self, index: int, count: int) -> None:
        """Buy a pack of `count` credits; if it is too small, too large or beyond an account's limit, it is refused."""
        allowed = self.model.add_credits(self.names[index], count)

        added = self.store.submit(calls.add_credits, self.names[index], count)

        if allowed:
            assert added.result() == self.model.packs[self.names[index]]
        else:
            assert isinstance(added.exception(), NotAllowedError)

    # -- companies that were matched -----------------------------------------------

    @rule(index=account_indexes, companies=company_lists)
    def note_matches(self, index: int, companies: list[str]) -> None:
        """Note companies that lists of an account have matched; later steps ask the store whether it knows them."""
        self.model.matched.setdefault(self.names[index], set()).update(companies)

        self.store.submit(activity.note_matches, self.names[index], companies).result()

    @rule(index=account_indexes, companies=company_lists)
    def ask_for_matches(self, index: int, companies: list[str]) -> None:
        """The store says whether all these companies were matched by the account before."""
        expected = self.model.matched.get(self.names[index], set()).issuperset(companies)

        assert (
            self.store.read(activity.are_matched, self.names[index], companies).result() is expected
        )

    # -- exports -------------------------------------------------------------------

    @rule(
        index=account_indexes,
        at_once=st.integers(1, 2),
        minutes=st.sampled_from([1, 60, 60 * 24 * 40]),
    )
    def reserve(self, index: int, at_once: int, minutes: int) -> None:
        """Reserve an export for `minutes`; the store refuses it if the model does, for the same reason.

        `at_once` is the most reservations that an account may have at a time. A granted reservation is noted in
        the model and in `reserved`, from which later steps count or release it.
        """
        account, ttl = self.names[index], timedelta(minutes=minutes)
        limit = SMALL[self.model.plan[account]].exports_par_mois
        expected = self.model.reserve(account, limit, at_once, self.now)

        answer = self.store.reserve(account, limit, at_once, ttl, self.now).result()

        if isinstance(answer, Refusal):
            assert answer.reason == expected
        else:
            assert expected == "granted"
            self.model.hold(answer.id, account, limit, ttl, self.now)
            self.reserved.append(answer)
            assert answer.meter.used <= limit

    @precondition(lambda self: self.reserved)
    @rule(index=st.integers(0, 99))
    def commit(self, index: int) -> None:
        """Count a reserved export, which may have expired, or been counted or released before."""
        reservation = self.reserved[index % len(self.reserved)]
        granted = self.model.commit(reservation.id, self.now)

        meter = self.store.commit(reservation, self.now).result()

        assert meter.granted is granted
        month = max(reservation.month, self.model.floor)
        counted = self.model.exports[reservation.account, month]
        assert not granted or counted <= reservation.limit

    @precondition(lambda self: self.reserved)
    @rule(index=st.integers(0, 99))
    def release(self, index: int) -> None:
        """Give a reservation up: its export is not counted."""
        reservation = self.reserved[index % len(self.reserved)]
        self.model.held.pop(reservation.id, None)

        self.store.release(reservation.account, reservation.id).result()

    # -- accounts and keys ---------------------------------------------------------

    @rule(index=account_indexes, plan=slugs)
    def set_plan(self, index: int, plan: str) -> None:
        """Give an account another plan; its counters stay."""
        self.model.plan[self.names[index]] = plan

        assert (
            self.store.submit(account_rows.set_plan, self.names[index], plan, SMALL).result().plan
            == plan
        )

    @rule(index=account_indexes, prefix=st.sampled_from([PREFIX, ADDRESS_PREFIX]))
    def create_key_or_address(self, index: int, prefix: str) -> None:
        """A plan allows as many active keys as active reconciliation addresses; one more is refused."""
        account = self.names[index]
        most_active = SMALL[self.model.plan[account]].cles_actives
        active_texts = [text for text, owner in self.model.active.items() if owner == account]
        future = create_key(self.store, account, SMALL, self.now, kind=_KIND_OF_PREFIX[prefix])
        if sum(text.startswith(prefix) for text in active_texts) < most_active:
            key, text = future.result()
            self.model.active[text] = account
            self.model.key_ids[text] = key.id
        else:
            assert isinstance(future.exception(), NotAllowedError)

    @precondition(lambda self: self.model.key_ids)
    @rule(index=st.integers(0, 99))
    def revoke_key_or_address(self, index: int) -> None:
        """A key is revoked as a key, an address as an address; the wrong kind is unknown."""
        text = list(self.model.key_ids)[index % len(self.model.key_ids)]
        self.model.active.pop(text, None)
        kind, wrong_kind = (KEYS, ADDRESSES) if text.startswith(PREFIX) else (ADDRESSES, KEYS)

        def revoke(kind: KeyKind) -> StoreFuture[Key]:
            """Revoke the text as a key or as a reconciliation address."""
            key = self.model.key_ids[text]
            return self.store.submit(account_rows.revoke_key, key, iso(self.now), kind)

        assert revoke(kind).result().revoked
        assert isinstance(revoke(wrong_kind).exception(), UnknownError)

    # -- upkeep --------------------------------------------------------------------

    @rule(months_kept=st.integers(0, 3))
    def compact(self, months_kept: int) -> None:
        """Drop the months before the last `months_kept` months."""
        first_month = months_before(self.now, months_kept)
        self.model.compact(first_month)

        self.store.compact(first_month)

    @rule()
    def an_audit_finds_no_difference(self) -> None:
        """The sums of each month and of packs are those of the charges."""
        charge_keys = [key for key, _ in self.rows() if key.startswith(row_format.CHARGE)]

        report = self.store.audit()

        assert report.differences == []
        assert report.charges == len(charge_keys)

    # -- invariants ----------------------------------------------------------------

    @invariant()
    def usage_is_that_of_the_model(self) -> None:
        """The counts of calls, exports and credits of each account are those of the model."""
        for account in self.names:
            plan = SMALL[self.model.plan[account]]
            usage = self.store.usage(account, plan, self.now).result()
            month = self.model.month(self.now)

            assert usage.calls.used == self.model.calls[account, self.model.day(self.now)]
            assert usage.exports.used == self.model.exports_used(account, month, self.now)
            assert usage.credits.packs == self.model.packs[account]
            assert usage.credits.left == self.model.credits_left(
                account, plan.credits_par_mois, self.now
            )

    @invariant()
    def the_last_openings_of_the_month_are_listed(self) -> None:
        """The store lists the last KEPT_OPENINGS openings of each account, the newest first."""
        for account in self.names:
            expected = self.model.opened.get((account, self.model.month(self.now)), [])

            openings = self.store.read(calls.recent_charges, account, self.now).result()

            assert [
                (int(opening.at.timestamp()), opening.credits, opening.subject)
                for opening in openings
            ] == (expected[: calls.KEPT_OPENINGS])

    @invariant()
    def keys_lead_to_their_account_until_they_are_revoked(self) -> None:
        """A text is known as a key or as an address, by its prefix; a revoked one leads nowhere."""
        for text in self.model.key_ids:
            owner_by_prefix = {
                PREFIX: self.store.identify(text).result(),
                ADDRESS_PREFIX: self.store.identify_by(
                    credentials.secret_digest(text), ADDRESSES
                ).result(),
            }
            owner = owner_by_prefix.pop(PREFIX if text.startswith(PREFIX) else ADDRESS_PREFIX)

            assert (owner and owner.id) == self.model.active.get(text)
            # The table of the other kind has no row for the text: a key is not a reconciliation address (a secret
            # address that stands for a key), and a reconciliation address is not a key.
            assert list(owner_by_prefix.values()) == [None]

    @invariant()
    def every_credit_spent_is_the_charge_of_a_company(self) -> None:
        """The stored charges of an account and month add up to the stored sum of credits from its grant.

        The stored credits of its packs, bought and spent, are those of the model.
        """
        rows = dict(self.rows())
        months = {key.split(b"/")[1].decode() for key in rows if key.startswith(row_format.CHARGE)}
        for account in self.names:
            for month in months:
                prefix = row_format.join(row_format.CHARGE, month, account, "")
                charges = [
                    row_format.unpack_pair(rows[key]) for key in rows if key.startswith(prefix)
                ]
                grant = row_format.unpack_number(
                    rows.get(row_format.join(row_format.GRANT, month, account))
                )
                assert sum(from_grant for from_grant, _ in charges) == grant
            packs = row_format.unpack_pair(rows.get(row_format.join(row_format.PACKS, account)))
            assert packs == (self.model.bought[account], self.model.spent[account])

    @invariant()
    def nothing_of_an_old_month_is_kept(self) -> None:
        """After a compaction, no row of a table of counters is of a month before the first month that is kept."""
        for key, _ in self.rows():
            if key[:2] in row_format.PERIODIC:
                assert key[2:9].decode() >= self.model.floor

    def rows(self) -> list[tuple[bytes, bytes]]:
        """All rows of the store."""
        raise NotImplementedError

    def teardown(self) -> None:
        self.store.close()
