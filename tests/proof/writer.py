"""A program whose crashes are simulated: it charges companies and prints the acknowledgements.

`python -m tests.proof.writer STATE SEED COUNT [--no-sync] [--wait]` charges COUNT different companies, 5 credits and a
call each, to three accounts, in groups of random size. It prints `ack 7` once the store has acknowledged company 7, and
`fail 7` once the store has refused it. `--no-sync` opens the store without syncs, an error that the proof must detect.
With `--wait` it waits after its first group for a line or the end of its standard input.
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
LIMIT: Final = 10**9  # calls and credits; no run reaches this limit
COST: Final = 5  # credits of a company
ACCOUNTS: Final = ("a", "b", "c")


def main(state: Path, seed: int, count: int, *, sync: bool, wait: bool) -> None:
    """Charge `count` companies in groups of one to eight; print "ack" or "fail" and the number of each company."""
    if not sync:
        _disable_sync()
    chance = random.Random(seed)
    store = LmdbStore(state)
    next_company = 0
    while next_company < count:
        group = range(next_company, min(count, next_company + chance.randint(1, 8)))
        futures = [
            store.take_and_charge(
                Purchase(account_of(company), LIMIT, f"EE:{company}", COST, LIMIT), NOW
            )
            for company in group
        ]
        for company, future in zip(group, futures, strict=True):
            try:
                meter, charge = future.result(60)
            except StoreUnavailable:
                os.write(1, f"fail {company}\n".encode())
                continue
            assert meter.granted
            assert charge
            assert charge.outcome == "charged"
            os.write(1, f"ack {company}\n".encode())
        if wait and next_company == 0:
            sys.stdin.readline()
        next_company = group.stop
    store.close()


def account_of(company: int) -> str:
    """The account that is charged for a company."""
    return ACCOUNTS[company % len(ACCOUNTS)]


def _disable_sync() -> None:
    """Make LMDB open every file without syncs: the error of `--no-sync`, which the proof must detect."""
    lmdb_open = lmdb.open

    def open_without_sync(*arguments: Any, **options: Any) -> Any:
        """Open an LMDB file as requested, but without syncs."""
        return lmdb_open(*arguments, **{**options, "sync": False})

    setattr(lmdb, "open", open_without_sync)  # noqa: B010 - mypy knows that it is a class


if __name__ == "__main__":
    main(
        Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]),
        sync="--no-sync" not in sys.argv, wait="--wait" in sys.argv,
    )  # fmt: skip
