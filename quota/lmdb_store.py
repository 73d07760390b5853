"""The store of one host: a file `quota.lmdb`, shared by all processes that open the same folder.

Each write is a wish of the writer thread (`writer.py`), done by a function of the ledger in a
transaction of the environment (`environment.py`); here they are put together, and here chance is
drawn for new ids and keys. LMDB lets one process write at a time: there is no other lock.
"""

import os
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from quota import exports, keys, ledger, registry
from quota.accounts import Account, Key
from quota.environment import MAP_SIZE, Environment, damage_of, sync
from quota.errors import NotAllowedError, StoreUnavailable
from quota.lmdb_people import LmdbPeople
from quota.periods import iso, utc
from quota.plans import Plan
from quota.promise import Promise
from quota.results import Charge, Meter, Refusal, Reservation, Usage
from quota.transaction import Reading
from quota.writer import Writer

# Rows a transaction of `compact` deletes: other writers wait that long (about 2 ms).
_STRETCH = 2_000


class LmdbStore:
    """`Store` over LMDB. Open it in the process that uses it (spawn, never fork), and once."""

    def __init__(self, folder: Path, *, map_size: int = MAP_SIZE) -> None:
        """Open the store of a STATE folder, or make it.

        Raises:
            WrongStoreError: another version of this code wrote it.
            StoreUnavailable: it cannot be opened.
        """
        self._environment = Environment(folder, map_size)
        self._writer = Writer(self._environment.write, self._environment.rest)
        self._submit = self._writer.submit

    # -- reads ---------------------------------------------------------------------

    def identify(self, key: str) -> Account | None:
        if not keys.is_well_formed(key):
            return None
        digest = keys.digest(key)
        return self._environment.read(lambda txn: registry.identify(txn, digest))

    def usage(self, account: str, plan: Plan, now: datetime) -> Usage:
        def look(txn: Reading) -> Usage:
            return Usage(
                ledger.calls(txn, account, plan.appels_api_par_jour, now),
                exports.exports(txn, account, plan.exports_par_mois, now),
                ledger.credits_of(txn, account, plan, now),
            )

        return self._environment.read(look)

    def calls(self, account: str, limit: int, now: datetime) -> Meter:
        return self._environment.read(lambda txn: ledger.calls(txn, account, limit, now))

    def account(self, account: str) -> Account:
        return self._environment.read(lambda txn: registry.account_of(txn, account))

    def accounts(self) -> Sequence[Account]:
        return self._environment.read(registry.accounts)

    def keys_of(self, account: str) -> Sequence[Key]:
        return self._environment.read(lambda txn: registry.keys_of(txn, account))

    # -- calls and credits ---------------------------------------------------------

    def take(self, account: str, limit: int, now: datetime) -> Promise[Meter]:
        moment = utc(now)
        return self._submit(lambda txn: ledger.take(txn, account, limit, moment))

    def give_back(self, account: str, taken: datetime) -> Promise[None]:
        moment = utc(taken)
        return self._submit(lambda txn: ledger.give_back(txn, account, moment))

    def take_and_charge(
        self, account: str, limit: int, company: str, cost: int, grant: int, now: datetime
    ) -> Promise[tuple[Meter, Charge | None]]:
        moment = utc(now)
        return self._submit(
            lambda txn: ledger.take_and_charge(txn, account, limit, company, cost, grant, moment)
        )

    def is_charged(self, account: str, company: str, now: datetime) -> bool:
        return self._environment.read(lambda txn: ledger.is_charged(txn, account, company, now))

    # -- exports -------------------------------------------------------------------

    def reserve(
        self, account: str, limit: int, at_once: int, ttl: timedelta, now: datetime
    ) -> Promise[Reservation | Refusal]:
        moment, name = utc(now), secrets.token_hex(8)
        return self._submit(
            lambda txn: exports.reserve(txn, account, limit, at_once, ttl, name, moment)
        )

    def commit(self, reservation: Reservation, now: datetime) -> Promise[Meter]:
        moment = utc(now)
        return self._submit(lambda txn: exports.commit(txn, reservation, moment))

    def release(self, reservation: Reservation, now: datetime) -> Promise[None]:
        del now  # a place is given up at any time
        return self._submit(lambda txn: exports.release(txn, reservation))

    # -- accounts and keys ---------------------------------------------------------

    def create_account(
        self,
        plan: str,
        plans: Mapping[str, Plan],
        now: datetime,
        *,
        nom: str = "",
        api_tool: bool = False,
        modules: Sequence[str] = (),
    ) -> Promise[Account]:
        name = keys.make_id(keys.ACCOUNT_ID, secrets.randbelow)
        account = Account(name, nom, plan, api_tool, tuple(modules), iso(now))
        return self._submit(lambda txn: registry.create_account(txn, account, plans))

    def set_plan(
        self,
        account: str,
        plan: str,
        plans: Mapping[str, Plan],
        *,
        api_tool: bool | None = None,
        modules: Sequence[str] | None = None,
    ) -> Promise[Account]:
        return self._submit(
            lambda txn: registry.set_plan(txn, account, plan, api_tool, modules, plans)
        )

    def create_key(
        self, account: str, plans: Mapping[str, Plan], now: datetime, *, label: str = ""
    ) -> Promise[tuple[Key, str]]:
        text = keys.make(secrets.randbelow)
        name = keys.make_id(keys.KEY_ID, secrets.randbelow)
        key = Key(name, account, keys.last4(text), label, iso(now), None)
        digest = keys.digest(text)
        return self._submit(lambda txn: (registry.create_key(txn, key, digest, plans), text))

    def revoke_key(self, key_id: str, now: datetime) -> Promise[Key]:
        return self._submit(partial(registry.revoke_key, key_id=key_id, now=iso(now)))

    def add_credits(self, account: str, count: int) -> Promise[int]:
        return self._submit(lambda txn: ledger.add_credits(txn, account, count))

    @property
    def people(self) -> LmdbPeople:
        return LmdbPeople(self._environment.read, self._submit)

    # -- upkeep --------------------------------------------------------------------

    def compact(self, before: str) -> int:
        self._submit(lambda txn: ledger.raise_floor(txn, before)).result()
        total = 0
        while dropped := self._submit(lambda txn: ledger.drop(txn, _STRETCH)).result():
            total += dropped
        return total

    def backup(self, target: Path) -> None:
        """As `Store.backup`; the copy is read back by LMDB's offline checker before it appears.

        Raises:
            NotAllowedError: `target` exists.
            StoreUnavailable: the copy could not be made, or is not whole.
        """
        if target.exists():
            raise NotAllowedError(f"{target} exists; name a file that does not")
        unfinished = target.with_name(f"{target.name}.partial")
        with unfinished.open("wb") as file:
            unfinished.chmod(0o600)
            self._environment.copy(file)
            os.fsync(file.fileno())
        if damage := damage_of(unfinished):
            raise StoreUnavailable(f"{unfinished} is not a whole copy: {damage}")
        unfinished.rename(target)
        sync(target.parent)

    def close(self) -> None:
        self._writer.close()
        self._environment.close()
