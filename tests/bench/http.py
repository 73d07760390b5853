"""`python -m tests.bench.http DATA`: requests a second with and without a key, and of bare aiohttp.

One worker, 64 connections of `wrk`, a few seconds each, all in one run. The measure is an aiohttp
handler that sends fixed bytes of the same size; the goal is a share of that. The burst limits are
lifted, and the account is the largest plan's: answers over its daily calls would be 429.
"""

import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from quota.lmdb_store import LmdbStore
from quota.plans import load

SECONDS: Final = 3  # of a keyed search: within the 10 000 daily calls of the largest plan
SEARCH: Final = "/api/v1/societes?pays=EE&tri=nom"
_LIMITS: Final = "[debit]\n" + "".join(
    f"{plan} = 100000000\n" for plan in ("integral", "visiteur", "visiteur_jour", "listes")
)
_BARE: Final = """
import sys
from aiohttp import web
body = b"x" * int(sys.argv[1])
async def answer(request): return web.Response(body=body, content_type="application/json")
app = web.Application()
app.router.add_get("/", answer)
web.run_app(app, port=0, host="127.0.0.1", print=lambda text: print(text, flush=True),
            access_log=None)
"""


def main(data: Path) -> None:
    plans, now = load(), datetime.now(UTC)
    with tempfile.TemporaryDirectory() as folder:
        state, config = Path(folder, "state"), Path(folder, "serve.toml")
        config.write_text(_LIMITS)
        store = LmdbStore(state)
        keys = []
        for _ in range(3):
            account = store.create_account("integral", plans, now).result().id
            key = store.create_key(account, plans, now).result()[1]
            keys.append({"Authorization": f"Bearer {key}"})
        store.close()
        command = [
            sys.executable, "-m", "serve", "--data", str(data), "--state", str(state),
            "--port", "0", "--config", str(config),
        ]  # fmt: skip
        with _running(command) as address:
            _table(address, keys)


def _table(address: str, keys: Sequence[Mapping[str, str]]) -> None:
    tag, size = _tag(address + SEARCH, keys[0])
    company = _company(address)
    visitor_tag, _ = _tag(address + SEARCH, {})
    rows: tuple[tuple[str, str, Mapping[str, str]], ...] = (
        ("keyed search, 50 rows, counted", SEARCH, keys[0]),
        ("visitor search, 2 rows", SEARCH, {}),
        ("keyed 304", SEARCH, {**keys[1], "If-None-Match": tag}),
        ("visitor 304", SEARCH, {"If-None-Match": visitor_tag}),
        ("keyed record, counted", company, keys[2]),
        ("visitor record", company, {}),
    )
    with _running([sys.executable, "-u", "-c", _BARE, str(size)]) as bare:
        measure = _wrk(bare + "/", {})
    print(f"| what | requests/s | of bare aiohttp ({size:,} bytes: {measure:,.0f}/s) |")
    print("| --- | --: | --: |")
    for name, path, headers in rows:
        rate = _wrk(address + path, headers)
        print(f"| {name} | {rate:,.0f} | {rate / measure:.0%} |")


def _wrk(url: str, headers: Mapping[str, str]) -> float:
    given = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
    done = subprocess.run(
        ["wrk", "-t1", "-c64", f"-d{SECONDS}", *given, url],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    if "Non-2xx" in done.stdout and "If-None-Match" not in headers:
        raise SystemExit(f"{url}: {done.stdout}")
    found = re.search(r"Requests/sec: +([\d.]+)", done.stdout)
    assert found
    return float(found[1])


def _tag(url: str, headers: Mapping[str, str]) -> tuple[str, int]:
    with urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers))) as answer:
        return answer.headers["ETag"], len(answer.read())


def _company(address: str) -> str:
    with urllib.request.urlopen(address + SEARCH) as answer:
        found = re.search(rb'"iso2":"EE","id":"(\w+)"', answer.read())
    assert found
    return f"/api/v1/societes/EE/{found[1].decode()}"


@contextmanager
def _running(command: list[str]) -> Iterator[str]:
    """A server's address, from what it prints when it is ready."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        found = None
        while not found:
            found = re.search(r"http://[\d.]+:\d+", process.stdout.readline())
        yield found[0]
        process.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
