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

COMPANIES = ["EE/10000018", "UK/00944111", "FR/Société Générale", "PL/Żabka"]
_KINDS = {PREFIX: KEYS, ADDRESS_PREFIX: ADDRESSES}
SLUGS = ["free", "data", "corporate", "marches", "integral", "carte"]

who = st.integers(0, 2)
slugs = st.sampled_from(SLUGS)
some_companies = st.lists(st.sampled_from(COMPANIES), max_size=5)


class StoreAgainstModel(PeopleAgainstModel):
    """Subclasses open `self.store` and list its rows."""

    store: LmdbStore | RedisStore

    @initialize(
        moment=st.sampled_from(MOMENTS),
        plans=st.tuples(slugs, slugs, slugs),
        packs=st.sampled_from([0, PACKS - 4]),
    )
    def begin(self, moment: datetime, plans: tuple[str, str, str], packs: int) -> None:
        self.now = moment
        self.model = Model()
        self.reserved: list[Reservation] = []
        self.names = [
            create_account(self.store, plan, SMALL, self.now, nom="Żabka").result().id
            for plan in plans
        ]
        self.model.plan = dict(zip(self.names, plans, strict=True))
        # Packs near the limit, which no example lasts long enough to buy.
        row = row_format.join(row_format.PACKS, self.names[0]), row_format.pack_pair(packs, 0)
        self.store.submit(lambda txn: txn.put(*row)).result()
        self.model.packs[self.names[0]] = self.model.bought[self.names[0]] = packs

    # -- the clock -----------------------------------------------------------------

    @rule(moment=st.sampled_from(MOMENTS))
    def jump(self, moment: datetime) -> None:
        self.now = moment

    @rule(seconds=st.integers(-90_000, 90_000))
    def step(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(hours=st.integers(-12, 14))
    def travel(self, hours: int) -> None:
        self.now = self.now.astimezone(timezone(timedelta(hours=hours)))

    # -- calls and credits ---------------------------------------------------------

    @rule(index=who)
    def take(self, index: int) -> None:
        account, plan = self.names[index], SMALL[self.model.plan[self.names[index]]]
        granted = self.model.take(account, plan.appels_api_par_jour, self.now)

        meter = self.store.take(account, plan.appels_api_par_jour, self.now).result()

        assert meter.granted is granted
        assert meter.used == self.model.calls[account, self.model.day(self.now)]
        assert not granted or meter.used <= meter.limit

    @rule(index=who)
    def give_back(self, index: int) -> None:
        self.model.give_back(self.names[index], self.now)

        self.store.give_back(self.names[index], self.now).result()

    @rule(index=who, company=st.sampled_from(COMPANIES), cost=st.sampled_from([5, 5, 5, 1, 8]))
    def read_a_company(self, index: int, company: str, cost: int) -> None:
        account, plan = self.names[index], SMALL[self.model.plan[self.names[index]]]
        grant = plan.credits_par_mois
        granted = self.model.take(account, plan.appels_api_par_jour, self.now)
        left = self.model.left(account, grant, self.now)
        outcome = self.model.charge(account, company, cost, grant, self.now) if granted else None

        meter, charge = self.store.take_and_charge(
            Purchase(account, plan.appels_api_par_jour, company, cost, grant), self.now
        ).result()

        assert meter.granted is granted
        assert (charge.outcome if charge else None) == outcome
        if charge:
            assert charge.cost == (cost if outcome == "charged" else 0)
            assert charge.left == left - charge.cost == self.model.left(account, grant, self.now)

    @rule(index=who, subject=st.sampled_from([*COMPANIES, "entreprise/EE/1", "marche/a"]))
    def try_an_analysis(self, index: int, subject: str) -> None:
        account, plan = self.names[index], SMALL[self.model.plan[self.names[index]]]
        granted = self.model.take(account, plan.appels_api_par_jour, self.now)
        outcome = self.model.tried(account, subject, 2, self.now) if granted else None
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

    @rule(index=who, count=st.integers(1, 9) | st.sampled_from([0, PACK, PACK + 1, 2**64]))
    def add_credits(self, index: int, count: int) -> None:
        allowed = self.model.add_credits(self.names[index], count)

        added = self.store.submit(calls.add_credits, self.names[index], count)

        if allowed:
            assert added.result() == self.model.packs[self.names[index]]
        else:
            assert isinstance(added.exception(), NotAllowedError)

    # -- companies that were matched -----------------------------------------------

    @rule(index=who, companies=some_companies)
    def note_matches(self, index: int, companies: list[str]) -> None:
        self.model.matched.setdefault(self.names[index], set()).update(companies)

        self.store.submit(activity.note_matches, self.names[index], companies).result()

    @rule(index=who, companies=some_companies)
    def ask_for_matches(self, index: int, companies: list[str]) -> None:
        expected = self.model.matched.get(self.names[index], set()).issuperset(companies)

        assert (
            self.store.read(activity.are_matched, self.names[index], companies).result() is expected
        )

    # -- exports -------------------------------------------------------------------

    @rule(index=who, at_once=st.integers(1, 2), minutes=st.sampled_from([1, 60, 60 * 24 * 40]))
    def reserve(self, index: int, at_once: int, minutes: int) -> None:
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
        reservation = self.reserved[index % len(self.reserved)]
        self.model.held.pop(reservation.id, None)

        self.store.release(reservation.account, reservation.id).result()

    # -- accounts and keys ---------------------------------------------------------

    @rule(index=who, plan=slugs)
    def set_plan(self, index: int, plan: str) -> None:
        self.model.plan[self.names[index]] = plan

        assert (
            self.store.submit(account_rows.set_plan, self.names[index], plan, SMALL).result().plan
            == plan
        )

    @rule(index=who, kind=st.sampled_from([PREFIX, ADDRESS_PREFIX]))
    def create_key_or_address(self, index: int, kind: str) -> None:
        account = self.names[index]
        allowed = SMALL[self.model.plan[account]].cles_actives
        active = [text for text, owner in self.model.active.items() if owner == account]
        future = create_key(self.store, account, SMALL, self.now, kind=_KINDS[kind])
        if sum(text.startswith(kind) for text in active) < allowed:
            key, text = future.result()
            self.model.active[text] = account
            self.model.key_ids[text] = key.id
        else:
            assert isinstance(future.exception(), NotAllowedError)

    @precondition(lambda self: self.model.key_ids)
    @rule(index=st.integers(0, 99))
    def revoke_key_or_address(self, index: int) -> None:
        text = list(self.model.key_ids)[index % len(self.model.key_ids)]
        self.model.active.pop(text, None)
        kind, other = (KEYS, ADDRESSES) if text.startswith(PREFIX) else (ADDRESSES, KEYS)

        def revoke(kind: KeyKind) -> StoreFuture[Key]:
            key = self.model.key_ids[text]
            return self.store.submit(account_rows.revoke_key, key, iso(self.now), kind)

        assert revoke(kind).result().revoked
        assert isinstance(revoke(other).exception(), UnknownError)

    # -- upkeep --------------------------------------------------------------------

    @rule(keep=st.integers(0, 3))
    def compact(self, keep: int) -> None:
        before = months_before(self.now, keep)
        self.model.compact(before)

        self.store.compact(before)

    @rule()
    def an_audit_finds_no_difference(self) -> None:
        charges = [key for key, _ in self.rows() if key.startswith(row_format.CHARGE)]

        report = self.store.audit()

        assert report.differences == []
        assert report.charges == len(charges)

    # -- invariants ----------------------------------------------------------------

    @invariant()
    def usage_is_what_the_model_counted(self) -> None:
        for account in self.names:
            plan = SMALL[self.model.plan[account]]
            usage = self.store.usage(account, plan, self.now).result()
            month = self.model.month(self.now)

            assert usage.calls.used == self.model.calls[account, self.model.day(self.now)]
            assert usage.exports.used == self.model.exports_used(account, month, self.now)
            assert usage.credits.packs == self.model.packs[account]
            assert usage.credits.left == self.model.left(account, plan.credits_par_mois, self.now)

    @invariant()
    def the_last_openings_of_the_month_are_told(self) -> None:
        for account in self.names:
            expected = self.model.opened.get((account, self.model.month(self.now)), [])

            told = self.store.read(calls.recent_charges, account, self.now).result()

            assert [(int(one.at.timestamp()), one.credits, one.subject) for one in told] == (
                expected[: calls.KEPT_OPENINGS]
            )

    @invariant()
    def keys_lead_to_their_account_until_they_are_revoked(self) -> None:
        for text in self.model.key_ids:
            owners = {
                PREFIX: self.store.identify(text).result(),
                ADDRESS_PREFIX: self.store.identify_by(
                    credentials.key_digest(text), ADDRESSES
                ).result(),
            }
            found = owners.pop(PREFIX if text.startswith(PREFIX) else ADDRESS_PREFIX)

            assert (found and found.id) == self.model.active.get(text)
            assert list(owners.values()) == [None]  # neither is taken for the other

    @invariant()
    def every_credit_spent_is_the_charge_of_a_company(self) -> None:
        rows = dict(self.rows())
        months = {key.split(b"/")[1].decode() for key in rows if key.startswith(row_format.CHARGE)}
        for account in self.names:
            for month in months:
                prefix = row_format.join(row_format.CHARGE, month, account, "")
                charges = [row_format.pair(rows[key]) for key in rows if key.startswith(prefix)]
                grant = row_format.number(
                    rows.get(row_format.join(row_format.GRANT, month, account))
                )
                assert sum(from_grant for from_grant, _ in charges) == grant
            packs = row_format.pair(rows.get(row_format.join(row_format.PACKS, account)))
            assert packs == (self.model.bought[account], self.model.spent[account])

    @invariant()
    def nothing_of_an_old_month_is_kept(self) -> None:
        for key, _ in self.rows():
            if key[:2] in row_format.PERIODIC:
                assert key[2:9].decode() >= self.model.floor

    def rows(self) -> list[tuple[bytes, bytes]]:
        """All rows of the store."""
        raise NotImplementedError

    def teardown(self) -> None:
        self.store.close()
