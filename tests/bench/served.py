"""A server to be measured: no burst limits, and accounts of the largest plan."""

import shutil
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from quota.plans import load
from quota.store.lmdb_store import LmdbStore
from tests.bench.load import Server, running
from tests.quota.filling import create_account, create_key

_LIMITS: Final = "[debit]\n" + "".join(
    f"{plan} = 100000000\n"
    for plan in (
        "integral",
        "visiteur",
        "visiteur_jour",
        "listes",
        "pages",
        "fichiers",
        "simultanes",
    )
)

Headers = Mapping[str, str]


def keys(state: Path, accounts: int) -> Sequence[Headers]:
    """The headers of new accounts of the largest plan, in a new STATE folder."""
    plans, now = load(), datetime.now(UTC)
    store = LmdbStore(state)
    made = [create_account(store, "integral", plans, now) for _ in range(accounts)]
    shown = [create_key(store, one.result().id, plans, now) for one in made]
    found = [{"Authorization": f"Bearer {one.result()[1]}"} for one in shown]
    store.close()
    return found


@contextmanager
def serving(data: Path, state: Path, *flags: str) -> Iterator[Server]:
    """Serve `data` on a free port, with further `flags` of `python -m serve`."""
    config = state.with_name("serve.toml")
    config.write_text(_LIMITS)
    command = [
        sys.executable, "-m", "serve", "--data", str(data), "--state", str(state),
        "--port", "0", "--config", str(config), *flags,
    ]  # fmt: skip
    with running(command) as server:
        yield server


def get(server: Server, path: str, account: Headers) -> None:
    """Read the whole answer to GET `path`, below /api/v1; urllib's error if it is none."""
    wanted = urllib.request.Request(f"{server.address}/api/v1/{path}", None, dict(account))
    with urllib.request.urlopen(wanted) as answer:
        answer.read()


def data_of(arguments: Sequence[str]) -> Path:
    """The DATA folder of a command line.

    Raises:
        SystemExit: there is none, or `wrk` is missing.
    """
    if len(arguments) != 2:
        raise SystemExit("give the DATA folder of a built generation")
    if not shutil.which("wrk"):
        raise SystemExit("wrk is not installed; apt-get install wrk")
    return Path(arguments[1])
