"""`python -m tests.bench.pages DATA`: the time of each page, beside that of the API call it shows.

One client requests all pages in turn in each round, so that all share the state of the machine. The
counts of a search are measured with a new query each time (computed) and repeated (memoised). A
log-in computes an argon2 hash in a thread.
"""

import http.client
import sys
import tempfile
import time
from contextlib import closing
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Final
from urllib.parse import urlsplit

from quota.ledger import passwords
from tests.bench.served import serving

ROUNDS: Final = 100
# A number in place of `{}` makes each request a new query.
PAGES: Final = (
    "/", "/?tri=ca_desc", "/api/v1/societes?tri=ca_desc&limit=25",
    "/?pays=FR&ca_min={}", "/api/v1/societes?pays=FR&ca_min={}&limit=25",
    "/?q=an&effectif_min={}", "/chiffres?q=an&effectif_min={}", "/chiffres?q=an&effectif_min=3",
    "/chiffres?effectif_min={}", "/tarifs", "/statut",
)  # fmt: skip


def main(data: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, serving(data, Path(folder) / "state") as server:
        host = urlsplit(server.address).netloc
        numbers, times, sizes = count(10), {page: list[float]() for page in PAGES}, {}
        with closing(http.client.HTTPConnection(host, timeout=60)) as connection:
            for _ in range(ROUNDS):
                for page in PAGES:
                    start = time.perf_counter()
                    connection.request("GET", page.format(next(numbers)))
                    sizes[page] = len(connection.getresponse().read())
                    times[page].append(1_000 * (time.perf_counter() - start))
    print("| path | bytes | p50 ms | p90 ms |\n| --- | --: | --: | --: |")
    for page, taken in times.items():
        print(
            f"| `{page}` | {sizes[page]} | {median(taken):.2f} | {quantiles(taken, n=10)[8]:.2f} |"
        )
    start = time.perf_counter()
    for _ in range(10):
        passwords.is_right("x", None)
    print(f"| a password | | {100 * (time.perf_counter() - start):.0f} | |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("give the DATA folder of a built generation")
    main(Path(sys.argv[1]))
