"""A soak: a fixed rate of mixed requests for a long time, and every minute the state of the server.

    python -m tests.proof.soak --data DATA --minutes 30 --workers 2 --rate 200

Requests begin at fixed moments whether or not earlier ones were answered, and a latency counts from that
moment, so a server that stalls cannot hide it (no coordinated omission). A line is printed per interval:
answers by status, latencies, private memory, descriptors, threads, and the reader slots of the quota store.
The end compares the last third of the run with the second one: the first third warms up. It exits with 1 if
memory, descriptors or latencies grew (`BOUNDS`), if the p99 of any interval, the first ones too, is over twice that
of the median interval (R18), or if an answer was no 200 or did not come.
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

# The growth from the second to the last third that is allowed, as a factor, and an absolute allowance.
BOUNDS: Final = {
    "private_mib": (1.05, 2.0),
    "descriptors": (1.0, 4.0),
    "p50": (1.5, 1.0),
    "p99": (2.0, 20.0),
}
MOST_OF_MEDIAN: Final = 2.0  # what the p99 of an interval may be of the median interval's
TIMEOUT_S: Final = 30.0
CALLS_PER_ACCOUNT: Final = 8_000  # an account of the largest plan has 10 000 a day
FEWEST_ACCOUNTS: Final = 9  # an account makes two exports at once, and the first ones take a while
LEAST_SAMPLES: Final = 6
EARLY: Final = range(
    40, 1_000, 161
)  # exports that start the processes for workbooks of all workers

Headers = Mapping[str, str]

WORDS: Final = ("a", "lab", "sa", "steel", "ö", "sarl 1", "tech", "société", "ltd", "żab", "x")
FILTERS: Final = (
    "q={word}", "q={word}&tri=ca_desc", "pays={pays}&q={word}", "pays={pays}&q={word}&avec_ca=1",
    "ca_min={number}", "effectif_min=5&effectif_max={number}", "pays={pays}&tri=nom&offset={offset}",
    "site_web=1&limit=100&offset={offset}", "pays={pays}&tri=effectif_desc&limit=50", "limit=500",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SoakRequest:
    path: str
    headers: Headers


@dataclass
class Interval:
    """The answers of an interval: statuses (0: none came), and latencies in milliseconds."""

    statuses: Counter[int] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        ordered = sorted(self.latencies) or [0.0]
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True, slots=True)
class SoakSample:
    """What one line shows; a field of `BOUNDS` must not grow."""

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
    """The mix, for ever: searches and records with keys, visitors, pages, lists, accounts, exports."""
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
    return chance.choice(FILTERS).format(
        word=chance.choice(WORDS),
        pays=",".join(chance.sample(countries, chance.randint(1, min(3, len(countries))))),
        number=10 ** chance.randrange(1, 8),
        offset=chance.randrange(0, 500),
    )


async def _companies(address: str, headers: Headers) -> list[str]:
    """The companies whose records are read: some of each country."""
    found = []
    async with aiohttp.ClientSession(address, headers=headers) as session:
        async with session.get("/api/v1/pays") as reply:
            countries = [one["iso2"] for one in orjson.loads(await reply.read())["pays"]]
        for iso2 in countries:
            async with session.get(f"/api/v1/societes?pays={iso2}&limit=200") as reply:
                rows = orjson.loads(await reply.read())["societes"]
            found += [
                f"{row['iso2']}/{row['id']}" for row in rows if re.fullmatch(r"[\w.-]+", row["id"])
            ]
    return found


async def _ask(
    session: aiohttp.ClientSession, one: SoakRequest, due: float, into: list[Interval]
) -> None:
    status = 0
    try:
        async with session.get(one.path, headers=one.headers) as reply:
            await reply.read()
            status = reply.status
    except (aiohttp.ClientError, TimeoutError):
        pass
    into[-1].statuses[status] += 1
    into[-1].latencies.append(1_000 * (time.monotonic() - due))


# -- the server ----------------------------------------------------------------------


def _family(pid: int) -> list[int]:
    """A process and all its descendants."""
    found = [pid]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += map(int, children.read_text().split())
            except OSError:
                continue
    return found


def _state_of(pid: int) -> tuple[float, int, int]:
    """Private memory in MiB, descriptors and threads of a process; zeros if it has ended."""
    try:
        memory = Path(f"/proc/{pid}/smaps_rollup").read_text()
        found = re.search(r"Anonymous: +(\d+)", memory)
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - names only
        threads = len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208
    except OSError:
        return 0.0, 0, 0
    return int(found[1]) / 1_024 if found else 0.0, descriptors, threads


def _sample(pid: int, state: Path, seconds: float, interval: Interval) -> SoakSample:
    states = [_state_of(process) for process in _family(pid)]
    with lmdb.open(str(state / FILE), subdir=False, readonly=True) as env:
        readers = len(env.readers().splitlines()) - 1
    return SoakSample(
        seconds, interval.statuses, interval.quantile(0.5), interval.quantile(0.99), interval.quantile(1.0),
        sum(one[0] for one in states), sum(one[1] for one in states), sum(one[2] for one in states),
        max(0, readers),
    )  # fmt: skip


# -- the run -------------------------------------------------------------------------


async def run(
    address: str, pid: int, state: Path, accounts: Sequence[Headers], options: argparse.Namespace
) -> list[SoakSample]:
    """Send requests at the rate until the end; a sample after each interval."""
    mix = requests(random.Random(options.seed), await _companies(address, accounts[0]), accounts)
    total = int(options.minutes * 60 * options.rate)
    samples: list[SoakSample] = []
    intervals = [Interval()]  # an answer belongs to the one in which it comes
    start = time.monotonic()
    due_sample = options.every

    async def take(seconds: float, ended: Interval) -> None:
        # The system adds up all pages of a process for it: 0.1 s, in which requests would be sent late.
        samples.append(await asyncio.to_thread(_sample, pid, state, seconds, ended))
        sys.stdout.write(samples[-1].line() + "\n")
        sys.stdout.flush()

    limits = aiohttp.TCPConnector(limit=options.connections)
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    async with (
        aiohttp.ClientSession(address, connector=limits, timeout=timeout) as session,
        asyncio.TaskGroup() as group,
    ):
        for number, one in enumerate(islice(mix, total)):
            due = start + number / options.rate
            if (wait := due - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            group.create_task(_ask(session, one, due, intervals))
            if due - start >= due_sample:
                ended = intervals[-1]
                intervals.append(Interval())
                group.create_task(take(due - start, ended))
                due_sample += options.every
    await take(time.monotonic() - start, intervals[-1])
    return sorted(samples, key=lambda sample: sample.seconds)


def faults(samples: Sequence[SoakSample], most_p99: float | None = None) -> list[str]:
    """What the run shows that must not be: failed answers, slow intervals, growth from the second third to the last.

    Args:
        most_p99: milliseconds that the p99 of an interval after the first third may reach.
    """
    statuses: Counter[int] = Counter()
    for sample in samples:
        statuses.update(sample.statuses)
    found = [
        f"{number} answers were {status or 'missing'}"
        for status, number in sorted(statuses.items())
        if status != 200
    ]
    third = len(samples) // 3
    found += [
        f"p99 was {one.p99:.1f} ms after {one.seconds:.0f} s, {most_p99:g} ms at most"
        for one in samples[third:]
        if most_p99 is not None and one.p99 > most_p99
    ]
    if len(samples) < LEAST_SAMPLES:
        return found
    usual = median(one.p99 for one in samples)
    found += [
        f"p99 was {one.p99:.1f} ms after {one.seconds:.0f} s, the median interval's is {usual:.1f} ms"
        for one in samples
        if one.p99 > MOST_OF_MEDIAN * usual
    ]
    middle, last = samples[third : 2 * third], samples[2 * third :]
    for name, (factor, allowance) in BOUNDS.items():
        before, after = (mean(getattr(one, name) for one in part) for part in (middle, last))
        if after > before * factor + allowance:
            found.append(f"{name} grew from {before:.1f} to {after:.1f}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    wanted = int(options.minutes * 60 * options.rate)
    with tempfile.TemporaryDirectory(prefix="soak-", dir=options.scratch) as folder:
        state = Path(folder) / "state"
        accounts = keys(state, FEWEST_ACCOUNTS + wanted // CALLS_PER_ACCOUNT)
        with serving(options.data, state, "--workers", str(options.workers)) as server:
            samples = asyncio.run(run(server.address, server.pid, state, accounts, options))
    found = faults(samples, options.p99)
    answered = sum(sum(sample.statuses.values()) for sample in samples)
    sys.stdout.write(f"{answered:,} answers; {'; '.join(found) or 'nothing grew, none failed'}\n")
    return 1 if found else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.proof.soak", description="Soak a server."
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder DATA")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two lines")
    parser.add_argument("--rate", type=float, default=200.0, help="requests a second")
    parser.add_argument("--p99", type=float, help="milliseconds that p99 may reach (R17)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--connections", type=int, default=256)
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument(
        "--scratch", type=Path, default=None, help="where STATE is made: a real disk"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
