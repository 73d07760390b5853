"""`python -m tests.bench.pages DATA`: what a page takes, beside the call of the API that it shows.

One client, one page after another, all in turn in each round, so that all meet the same machine.
The figures of a search are asked for once with a query of their own each time (a census), and once
again (remembered). A log-in is a hash of argon2, in a thread.
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
# A number in the place of `{}` makes each asking another query.
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
