"""A soak: mixed requests at a fixed rate for a long time, and the state of the server every minute.

    python -m tests.proof.soak --data DATA --minutes 30 --workers 2 --rate 200

Each request is due at a fixed time, whether or not earlier requests were answered. Latencies count from that time, so a
server that stalls cannot hide its delay (no coordinated omission). The program prints a line per interval: answers by
status, latencies, private memory, descriptors, threads, and the reader slots of the quota store. At the end it compares
the last third of the run with the second third; the first third warms up. The exit code is 1 if memory, descriptors or
latencies grew (`BOUNDS`), if the p99 of an interval, including the first, is over twice that of the median interval
(R18), or if an answer was missing or not 200.
"""

import argparse
import asyncio
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from statistics import mean, median
from typing import Final

import aiohttp
import lmdb
import orjson

from quota.store.lmdb_store import FILE
from tests.bench.served import keys, serving

# The allowed growth from the second to the last third: a factor, and an absolute addition.
BOUNDS: Final = {
    "private_mib": (1.05, 2.0),
    "descriptors": (1.0, 4.0),
    "p50": (1.5, 1.0),
    "p99": (2.0, 20.0),
}
MOST_OF_MEDIAN: Final = 2.0  # times the p99 of the median interval
TIMEOUT_S: Final = 30.0  # of a request
CALLS_PER_ACCOUNT: Final = 8_000  # an account of the largest plan has 10 000 a day
FEWEST_ACCOUNTS: Final = 9  # an account may run two exports together; the first take long
LEAST_SAMPLES: Final = 6  # with fewer intervals only statuses and --p99 are checked
# The numbers of early requests that are exports, so that all workers start their worker pools while the run warms up.
EARLY: Final = range(40, 1_000, 161)

Headers = Mapping[str, str]

# The texts and the parameters of searches.
WORDS: Final = ("a", "lab", "sa", "steel", "ö", "sarl 1", "tech", "société", "ltd", "żab", "x")
FILTERS: Final = (
    "q={word}", "q={word}&tri=ca_desc", "pays={pays}&q={word}", "pays={pays}&q={word}&avec_ca=1",
    "ca_min={number}", "effectif_min=5&effectif_max={number}", "pays={pays}&tri=nom&offset={offset}",
    "site_web=1&limit=100&offset={offset}", "pays={pays}&tri=effectif_desc&limit=50", "limit=500",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SoakRequest:
    """A GET of a path with headers."""

    path: str
    headers: Headers


@dataclass
class Interval:
    """The answers of an interval: statuses (0 for a missing answer), and latencies in milliseconds."""

    statuses: Counter[int] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        """The latency that a share of the answers do not exceed."""
        ordered = sorted(self.latencies) or [0.0]
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True, slots=True)
class SoakSample:
    """The figures of a line of output; the fields of `BOUNDS` must not grow."""

    seconds: float
    statuses: Mapping[int, int]
    p50: float
    p99: float
    longest: float
    private_mib: float
    descriptors: int
    threads: int
    readers: int

    def line(self) -> str:
        """The figures as a line of output."""
        statuses = " ".join(
            f"{status}:{number}" for status, number in sorted(self.statuses.items())
        )
        return (
            f"{self.seconds:7.0f} s  p50 {self.p50:6.1f}  p99 {self.p99:7.1f}  max {self.longest:7.1f} ms  "
            f"private {self.private_mib:7.1f} MiB  fd {self.descriptors:4}  threads {self.threads:3}  "
            f"readers {self.readers:2}  {statuses}"
        )


# -- requests ----------------------------------------------------------------------


def requests(
    chance: random.Random, companies: Sequence[str], accounts: Sequence[Headers]
) -> Iterator[SoakRequest]:
    """Yield the endless mix: searches and records with keys, visitors, pages, lists, accounts, exports."""
    countries = sorted({company.split("/")[0] for company in companies})
    for number in count():
        keyed = accounts[number % len(accounts)]
        draw = chance.random()
        if number in EARLY or number % 3_000 == 2_999:
            yield SoakRequest(f"/api/v1/export?pays={countries[0]}&q=lab", keyed)
        elif draw < 0.70:
            yield SoakRequest(f"/api/v1/societes?{_search(chance, countries)}", keyed)
        elif draw < 0.85:
            yield SoakRequest(f"/api/v1/societes/{chance.choice(companies)}", keyed)
        elif draw < 0.90:
            yield SoakRequest(f"/api/v1/societes?q={chance.choice(WORDS)}", {})
        elif draw < 0.95:
            yield SoakRequest(
                chance.choice(("/", "/?q=lab", "/tarifs", "/statut")), {"Accept": "text/html"}
            )
        elif draw < 0.98:
            yield SoakRequest(
                chance.choice(("/api/v1/pays", "/api/v1/secteurs", "/healthz", "/metrics")), {}
            )
        else:
            yield SoakRequest("/api/v1/compte", keyed)


def _search(chance: random.Random, countries: Sequence[str]) -> str:
    """The parameters of a random search."""
    return chance.choice(FILTERS).format(
        word=chance.choice(WORDS),
        pays=",".join(chance.sample(countries, chance.randint(1, min(3, len(countries))))),
        number=10 ** chance.randrange(1, 8),
        offset=chance.randrange(0, 500),
    )


async def read_companies(address: str, headers: Headers) -> list[str]:
    """Read the companies whose records the mix reads, as COUNTRY/IDENTIFIER: some of each country."""
    companies = []
    async with aiohttp.ClientSession(address, headers=headers) as session:
        async with session.get("/api/v1/pays") as reply:
            countries = [country["iso2"] for country in orjson.loads(await reply.read())["pays"]]
        for iso2 in countries:
            async with session.get(f"/api/v1/societes?pays={iso2}&limit=200") as reply:
                rows = orjson.loads(await reply.read())["societes"]
            companies += [
                f"{row['iso2']}/{row['id']}" for row in rows if re.fullmatch(r"[\w.-]+", row["id"])
            ]
    return companies


async def _record_answer(
    session: aiohttp.ClientSession, request: SoakRequest, due: float, intervals: list[Interval]
) -> None:
    """Send a request; count its status, and its latency since it was `due`, in the last interval.

    A request without an answer has status 0. `due` is a time of `time.monotonic`.
    """
    status = 0
    try:
        async with session.get(request.path, headers=request.headers) as reply:
            await reply.read()
            status = reply.status
    except (aiohttp.ClientError, TimeoutError):
        pass
    intervals[-1].statuses[status] += 1
    intervals[-1].latencies.append(1_000 * (time.monotonic() - due))


# -- the processes of the server -----------------------------------------------------


def _process_tree(pid: int) -> list[int]:
    """The ids of a process and of all its descendants."""
    pids = [pid]
    for parent in pids:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                pids += map(int, children.read_text().split())
            except OSError:
                continue
    return pids


def _process_state(pid: int) -> tuple[float, int, int]:
    """Private memory in MiB, descriptors and threads of a process; zeros if it has ended."""
    try:
        memory = Path(f"/proc/{pid}/smaps_rollup").read_text()
        anonymous = re.search(r"Anonymous: +(\d+)", memory)
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - names only
        threads = len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208
    except OSError:
        return 0.0, 0, 0
    return int(anonymous[1]) / 1_024 if anonymous else 0.0, descriptors, threads


def _sample(pid: int, state: Path, seconds: float, interval: Interval) -> SoakSample:
    """The figures of an interval, and of the processes of the server now."""
    states = [_process_state(process) for process in _process_tree(pid)]
    with lmdb.open(str(state / FILE), subdir=False, readonly=True) as env:
        readers = len(env.readers().splitlines()) - 1
    return SoakSample(
        seconds, interval.statuses, interval.quantile(0.5), interval.quantile(0.99), interval.quantile(1.0),
        sum(entry[0] for entry in states), sum(entry[1] for entry in states), sum(entry[2] for entry in states),
        max(0, readers),
    )  # fmt: skip


# -- the run -------------------------------------------------------------------------


async def run(
    address: str, pid: int, state: Path, accounts: Sequence[Headers], options: argparse.Namespace
) -> list[SoakSample]:
    """Send requests at the rate until the end; return a sample for each interval."""
    request_stream = requests(
        random.Random(options.seed), await read_companies(address, accounts[0]), accounts
    )
    total = int(options.minutes * 60 * options.rate)
    samples: list[SoakSample] = []
    intervals = [Interval()]  # an answer counts in the interval in which it comes
    one_at_a_time = asyncio.Lock()
    start = time.monotonic()
    due_sample = options.every

    async def take_sample(seconds: float, ended: Interval) -> None:
        """Add and print the sample of an interval that has ended."""
        # The kernel sums the memory pages of each process, which takes 0.1 s and would delay requests. A process opens
        # the quota file only once at a time.
        async with one_at_a_time:
            samples.append(await asyncio.to_thread(_sample, pid, state, seconds, ended))
        sys.stdout.write(samples[-1].line() + "\n")
        sys.stdout.flush()

    limits = aiohttp.TCPConnector(limit=options.connections)
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    async with (
        aiohttp.ClientSession(address, connector=limits, timeout=timeout) as session,
        asyncio.TaskGroup() as group,
    ):
        for number, request in enumerate(islice(request_stream, total)):
            due = start + number / options.rate
            if (seconds_until_due := due - time.monotonic()) > 0:
                await asyncio.sleep(seconds_until_due)
            group.create_task(_record_answer(session, request, due, intervals))
            if due - start >= due_sample:
                ended = intervals[-1]
                intervals.append(Interval())
                group.create_task(take_sample(due - start, ended))
                due_sample += options.every
    await take_sample(time.monotonic() - start, intervals[-1])
    return sorted(samples, key=lambda sample: sample.seconds)


def faults(samples: Sequence[SoakSample], most_p99: float | None = None) -> list[str]:
    """The faults of a run: failed answers, slow intervals, growth from the second third to the last.

    Args:
        most_p99: the greatest allowed p99 of an interval after the first third, in milliseconds.
    """
    statuses: Counter[int] = Counter()
    for sample in samples:
        statuses.update(sample.statuses)
    messages = [
        f"{number} answers were {status or 'missing'}"
        for status, number in sorted(statuses.items())
        if status != 200
    ]
    third = len(samples) // 3
    messages += [
        f"p99 was {interval.p99:.1f} ms after {interval.seconds:.0f} s, {most_p99:g} ms at most"
        for interval in samples[third:]
        if most_p99 is not None and interval.p99 > most_p99
    ]
    if len(samples) < LEAST_SAMPLES:
        return messages
    median_p99 = median(interval.p99 for interval in samples)
    messages += [
        f"p99 was {interval.p99:.1f} ms after {interval.seconds:.0f} s, the median interval's is {median_p99:.1f} ms"
        for interval in samples
        if interval.p99 > MOST_OF_MEDIAN * median_p99
    ]
    second_third, last_third = samples[third : 2 * third], samples[2 * third :]
    for name, (factor, allowance) in BOUNDS.items():
        mean_before, mean_after = (
            mean(getattr(interval, name) for interval in samples_of_third)
            for samples_of_third in (second_third, last_third)
        )
        if mean_after > mean_before * factor + allowance:
            messages.append(f"{name} grew from {mean_before:.1f} to {mean_after:.1f}")
    return messages


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the soak on a new server, and print what grew or failed; return 1 if anything did, otherwise 0."""
    options = _parser().parse_args(arguments)
    total = int(options.minutes * 60 * options.rate)
    with tempfile.TemporaryDirectory(prefix="soak-", dir=options.scratch) as folder:
        state = Path(folder) / "state"
        accounts = keys(state, FEWEST_ACCOUNTS + total // CALLS_PER_ACCOUNT)
        with serving(options.data, state, "--workers", str(options.workers)) as server:
            samples = asyncio.run(run(server.address, server.pid, state, accounts, options))
    messages = faults(samples, options.p99)
    answer_count = sum(sum(sample.statuses.values()) for sample in samples)
    sys.stdout.write(
        f"{answer_count:,} answers; {'; '.join(messages) or 'nothing grew, none failed'}\n"
    )
    return 1 if messages else 0


def _parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.proof.soak",
        description="Send mixed requests at a fixed rate and watch the server.",
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder DATA")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two lines")
    parser.add_argument("--rate", type=float, default=200.0, help="requests per second")
    parser.add_argument("--p99", type=float, help="the greatest allowed p99 in milliseconds (R17)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--connections", type=int, default=256)
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument(
        "--scratch", type=Path, default=None, help="the folder for STATE, on a real disk"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
