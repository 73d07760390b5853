"""A program that opens a store after a power cut and prints its contents.

A damaged file may crash the process that maps it, so the check runs in a separate process. `python -m
tests.proof.checker` reads a folder per line from standard input and prints a line of JSON for each.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from quota.errors import QuotaError
from quota.plans import load
from quota.store.lmdb_store import FILE, LmdbStore, damage_of
from tests.proof.writer import ACCOUNTS, NOW


def read_store(folder: Path) -> dict[str, object]:
    """The `calls` and `credits` of a store, in the order of ACCOUNTS, or its `damage` if the file is damaged."""
    path = folder / FILE
    if path.stat().st_size and (damage := damage_of(path)):
        return {"damage": damage}
    plan = load()["data"]
    store = LmdbStore(folder)
    try:
        usages = [store.usage(account, plan, NOW).result() for account in ACCOUNTS]
        # The store must also accept writes.
        store.take("later", 1, datetime(2026, 11, 22, tzinfo=UTC)).result(30)
    finally:
        store.close()
    return {"calls": [u.calls.used for u in usages], "credits": [u.credits.used for u in usages]}


def main() -> None:
    """Print the contents of the store of each folder that standard input names."""
    for line in sys.stdin:
        try:
            contents = read_store(Path(line.strip()))
        except (QuotaError, OSError) as error:
            contents = {"damage": str(error)}
        sys.stdout.write(json.dumps(contents) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
