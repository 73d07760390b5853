"""The writer whose crashes are studied: it charges companies and says what was acknowledged.

`python -m tests.proof.writer STATE SEED COUNT [--no-sync]`: COUNT different companies, each charged
5 credits to one of three accounts with its call, in groups of chance size. `ack 7` is written after
the store has answered for company 7, `fail 7` where it said that it could not. `--no-sync` opens
the store as one must not: it is there for the proof to condemn.
"""

import os
import random
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import lmdb

from quota.errors import StoreUnavailable
from quota.purchase import Purchase
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
        waiting = [
            store.take_and_charge(Purchase(account_of(i), LIMIT, f"EE:{i}", COST, LIMIT), NOW)
            for i in group
        ]
        for i, future in zip(group, waiting, strict=True):
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
