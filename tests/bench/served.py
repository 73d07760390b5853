"""A server for measurements: without burst limits, with accounts of the largest plan."""

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

# Settings that lift every limit by the minute.
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

Headers = Mapping[str, str]  # of a request: the key of an account


def keys(state: Path, accounts: int) -> Sequence[Headers]:
    """The headers of new accounts of the largest plan, in a new STATE folder."""
    plans, now = load(), datetime.now(UTC)
    store = LmdbStore(state)
    created = [create_account(store, "integral", plans, now) for _ in range(accounts)]
    created_keys = [create_key(store, result.result().id, plans, now) for result in created]
    headers = [{"Authorization": f"Bearer {result.result()[1]}"} for result in created_keys]
    store.close()
    return headers


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
    """Read the complete response to GET /api/v1/`path`; urllib raises its HTTPError for a refusal."""
    request = urllib.request.Request(f"{server.address}/api/v1/{path}", None, dict(account))
    with urllib.request.urlopen(request) as answer:
        answer.read()


def data_folder(arguments: Sequence[str]) -> Path:
    """The DATA folder of a command line.

    Raises:
        SystemExit: the argument is missing, or `wrk` is not installed.
    """
    if len(arguments) != 2:
        raise SystemExit("give the DATA folder of a built generation")
    if not shutil.which("wrk"):
        raise SystemExit("wrk is not installed; run apt-get install wrk")
    return Path(arguments[1])
