"""`python -m tests.bench --real FOLDER`: import, build and search real register files, measured.

One run gives one section of RESULTS.md: time and peak memory of each command, bytes a company, and
ten searches beside SQLite on the same companies (composite indexes and an FTS5 trigram table, what
a competent user would set up). Totals are compared each time: a fast wrong answer is no figure.
FOLDER has `ee/` and `uk/` with files as published; without it the excerpts of `seeds/` are taken.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from shards import generations
from tests.bench import searches

ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--real", type=Path, default=ROOT / "seeds" / "raw")
    parser.add_argument("--runs", type=int, default=200, help="repetitions of each search")
    options = parser.parse_args(arguments)
    print(f"## {datetime.now(UTC):%Y-%m-%d}, commit {_commit()}\n")
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
          f"{_memory() / 2**30:.0f} GiB, Python {platform.python_version()}; "
          f"input `{options.real.name}`\n")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        data = _build(options.real, Path(folder))
        _sizes(data)
        searches.report(data, Path(folder), options.runs)
    return 0


def _build(real: Path, folder: Path) -> Path:
    """Run the commands of the README on the files in `real`; return the DATA folder."""
    files = {
        "ee": sorted((real / "ee").glob("*.zip")),
        "uk-basic": sorted((real / "uk").glob("BasicCompanyData*.zip")),
        "uk-accounts": sorted((real / "uk").glob("Accounts_Bulk_Data*.zip")),
    }
    print("| command | seconds | peak memory, MiB |\n| --- | --: | --: |")
    for source, paths in files.items():
        _measured(f"import {source}", "import", source, *map(str, paths), "--out", f"{folder}/in")
    data = folder / "data"
    for jobs in (1, os.cpu_count() or 1):
        _measured(
            f"build --jobs {jobs}", "build", "--input", f"{folder}/in", "--out",
            str(folder / f"data-{jobs}"), "--jobs", str(jobs),
        )  # fmt: skip
        data = folder / f"data-{jobs}"
    return data


def _measured(name: str, *arguments: str) -> None:
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{name} failed with {process.returncode}")
    # ru_maxrss covers the command itself; its worker processes are shown by quality.json.
    print(f"| `{name}` | {time.perf_counter() - start:.1f} | {usage.ru_maxrss / 1024:.0f} |")


def _sizes(data: Path) -> None:
    name = generations.current(data)
    assert name is not None
    with generations.load(data, name) as generation:
        print("\n| shard | companies | bytes | bytes a company |\n| --- | --: | --: | --: |")
        for iso2, shard in generation.shards.items():
            if shard.rows:
                size = shard.path.stat().st_size
                print(f"| {iso2} | {shard.rows:,} | {size:,} | {size / shard.rows:.0f} |")


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


if __name__ == "__main__":
    raise SystemExit(main())
