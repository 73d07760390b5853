"""The program whose crashes are simulated: it charges companies and prints the acknowledgements.

`python -m tests.proof.writer STATE SEED COUNT [--no-sync]` charges COUNT different companies, 5
credits and a call each, to one of three accounts, in groups of random size. It prints `ack 7` when
the store has confirmed company 7, and `fail 7` when the store has refused it. `--no-sync` opens the
store without syncs, an error that the proof must find.
"""

import os
import random
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import lmdb

from quota.errors import StoreUnavailable
from quota.ledger.calls import Purchase
from quota.store.lmdb_store import LmdbStore

NOW: Final = datetime(2026, 11, 21, 12, tzinfo=UTC)
LIMIT: Final = 10**9
COST: Final = 5
ACCOUNTS: Final = ("a", "b", "c")


def main(state: Path, seed: int, count: int, *, sync: bool) -> None:
    if not sync:
        _without_sync()
    chance = random.Random(seed)
    store = LmdbStore(state)
    done = 0
    while done < count:
        group = range(done, min(count, done + chance.randint(1, 8)))
        futures = [
            store.take_and_charge(Purchase(account_of(i), LIMIT, f"EE:{i}", COST, LIMIT), NOW)
            for i in group
        ]
        for i, future in zip(group, futures, strict=True):
            try:
                meter, charge = future.result(60)
            except StoreUnavailable:
                os.write(1, f"fail {i}\n".encode())
                continue
            assert meter.granted
            assert charge
            assert charge.outcome == "charged"
            os.write(1, f"ack {i}\n".encode())
        done = group.stop
    store.close()


def account_of(company: int) -> str:
    return ACCOUNTS[company % len(ACCOUNTS)]


def _without_sync() -> None:
    opened = lmdb.open

    def careless(*arguments: Any, **options: Any) -> Any:
        return opened(*arguments, **{**options, "sync": False})

    setattr(lmdb, "open", careless)  # noqa: B010 - mypy knows that it is a class


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sync="--no-sync" not in sys.argv)
