"""The program that opens a store after a power cut and prints its contents.

A damaged file may crash the process that maps it, so this is a program of its own. `python -m
tests.proof.checker` reads one folder per line from standard input and prints one line of JSON.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from quota.errors import QuotaError
from quota.plans import load
from quota.store.lmdb_store import FILE, LmdbStore, damage_of
from tests.proof.writer import ACCOUNTS, NOW


def look(folder: Path) -> dict[str, object]:
    """Calls and credits of each account, or the damage of the file."""
    path = folder / FILE
    if path.stat().st_size and (damage := damage_of(path)):
        return {"damage": damage}
    plan = load()["data"]
    store = LmdbStore(folder)
    try:
        usages = [store.usage(account, plan, NOW).result() for account in ACCOUNTS]
        # The store must accept writes again, too.
        store.take("later", 1, datetime(2026, 11, 22, tzinfo=UTC)).result(30)
    finally:
        store.close()
    return {"calls": [u.calls.used for u in usages], "credits": [u.credits.used for u in usages]}


def main() -> None:
    for line in sys.stdin:
        try:
            found = look(Path(line.strip()))
        except (QuotaError, OSError) as error:
            found = {"damage": str(error)}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
