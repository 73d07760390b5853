"""Opens images of a store after a power cut and says what is in them, one line of JSON each.

Runs apart from the tests, and line by line, because a damaged file may take the whole process with
it: `python -m tests.proof.checker` reads a folder a line from standard input.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from quota.errors import QuotaError
from quota.plans import load
from quota.store.lmdb_file import FILE, damage_of
from quota.store.lmdb_store import LmdbStore
from tests.proof.writer import ACCOUNTS, NOW


def look(folder: Path) -> dict[str, object]:
    """Calls and credits of each account, or what is wrong with the file."""
    path = folder / FILE
    if path.stat().st_size and (damage := damage_of(path)):
        return {"damage": damage}
    plan = load()["data"]
    store = LmdbStore(folder)
    try:
        usages = [store.usage(account, plan, NOW).result() for account in ACCOUNTS]
        # It must take writes again, too.
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
