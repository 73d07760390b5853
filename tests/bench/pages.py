"""`python -m tests.bench.pages DATA`: the weight of each page, its time to the first byte, and what it costs.

One client requests a page again and again, then the next one. A number in a path makes each request a new query, so
nothing of it is remembered. Weights are those of the body, alone and with gzip. The first visit is to a server which
has read its shards, and to which nobody has come. Processor time is that of the server, so it can be believed on a busy
machine; the API call that a page shows stands beside it.
"""

import http.client
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Final
from urllib.parse import urlsplit

import orjson

from tests.bench.load import Server, processor_seconds
from tests.bench.served import serving

ROUNDS: Final = 60
_NUMBERS: Final = count(10)
_LARGEST: Final = "/api/v1/societes?tri=ca_desc&avec_ca=1&limit=1"
_PAGES: Final = (
    "/", "/?tri=ca_desc", "/api/v1/societes?tri=ca_desc&limit=25",
    "/?pays=FR&ca_min={}", "/api/v1/societes?pays=FR&ca_min={}&limit=25",
    "/?q=steel", "/?q=an&effectif_min={}", "/?q=rien+de+tel+{}",
    "/chiffres?q=an&effectif_min={}", "/propositions?q=ste", "/rapprochement",
    "/sources", "/statut", "/tarifs", "/mentions-legales", "/inscription", "/connexion",
    "/docs", "/docs/guides/erreurs", "/docs/routes/searchCompanies", "/docs/objets/Societe",
    "/docs?q=quota", "/sitemap.xml", "/rien",
)  # fmt: skip
_WARM: Final = 8  # seconds in which a server reads its shards ahead


def main(data: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, serving(data, Path(folder) / "state") as server:
        time.sleep(_WARM)
        host = urlsplit(server.address).netloc
        print("| page | kB | gzip | first ms | p50 ms | p90 ms | processor ms |")
        print("| --- | --: | --: | --: | --: | --: | --: |")
        with closing(http.client.HTTPConnection(host, timeout=120)) as connection:
            for page in _paths(connection):
                print(_row(server, connection, page), flush=True)


def _paths(connection: http.client.HTTPConnection) -> Iterator[str]:
    """The pages, with that of the company of the greatest turnover in the third place."""
    yield from _PAGES[:2]
    (company,) = orjson.loads(_get(connection, _LARGEST)[0])["societes"]
    path = f"/societes/{company['iso2']}/{company['id']}"
    yield path
    yield f"/api/v1{path}"
    yield from _PAGES[2:]


def _row(server: Server, connection: http.client.HTTPConnection, page: str) -> str:
    whole, first = _get(connection, page)
    packed, _ = _get(connection, page, {"Accept-Encoding": "gzip"})
    before = processor_seconds(server)
    times = [_get(connection, page)[1] for _ in range(ROUNDS)]
    spent = 1_000 * (processor_seconds(server) - before) / ROUNDS
    numbers = (first, median(times), quantiles(times, n=10)[8], spent)
    sizes = f"{len(whole) / 1_000:.1f} | {len(packed) / 1_000:.1f}"
    return f"| `{page}` | {sizes} | " + " | ".join(f"{one:.1f}" for one in numbers) + " |"


def _get(
    connection: http.client.HTTPConnection, page: str, headers: dict[str, str] | None = None
) -> tuple[bytes, float]:
    """The body, and the milliseconds to its first byte."""
    start = time.perf_counter()
    connection.request("GET", page.format(next(_NUMBERS)), headers=headers or {})
    answer = connection.getresponse()
    taken = 1_000 * (time.perf_counter() - start)
    return answer.read(), taken


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("give the DATA folder of a built generation")
    main(Path(sys.argv[1]))
