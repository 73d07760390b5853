"""`python -m tests.bench.bursts`: the cost of one decision of the burst limits.

One process alone, then two that share the limits; with 100 callers, and with 100 000. The goal is
60 000 decisions per second and process, which is 16 µs each. Processor time is what a serving
process loses; on an otherwise idle machine the time on the clock is the same.
"""

import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Final

from quota.bursts.limiter import BurstLimiter

CALLS: Final = 50_000
PER_MINUTE: Final = 10**6
STRIDE: Final = 7919  # prime, so that all callers have their turn


def main() -> None:
    print("| callers | processes | processor, µs | clock, µs |\n| --: | --: | --: | --: |")
    context = multiprocessing.get_context("spawn")
    for callers in (100, 100_000):
        for processes in (1, 2):
            with tempfile.TemporaryDirectory() as state, context.Pool(processes) as pool:
                times = pool.starmap(_measure, [(Path(state), callers)] * processes)
            each = [sum(column) / len(times) / CALLS * 1e6 for column in zip(*times, strict=True)]
            print(f"| {callers} | {processes} | {each[0]:.1f} | {each[1]:.1f} |", flush=True)


def _measure(state: Path, callers: int) -> tuple[float, float]:
    """Seconds of processor and of the clock for CALLS decisions."""
    limiter = BurstLimiter(state)
    names = [f"compte a_{number:012d}" for number in range(callers)]
    for name in names:
        limiter.allow(name, PER_MINUTE, time.time())
    processor, clock = time.process_time(), time.perf_counter()
    for number in range(CALLS):
        limiter.allow(names[number * STRIDE % callers], PER_MINUTE, time.time())
    times = time.process_time() - processor, time.perf_counter() - clock
    limiter.close()
    return times


if __name__ == "__main__":
    main()
