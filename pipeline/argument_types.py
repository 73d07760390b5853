"""Types of command-line arguments: text becomes a value, or an error that names value and remedy."""

import argparse
import re
from datetime import UTC, datetime
from functools import cache
from typing import Final

from pipeline import seeds
from pipeline.errors import BuildError
from pipeline.publishing import plan
from pipeline.workers import processes
from shards.generations import publication

_SCHEDULER: Final = re.compile(
    r"(tcp|tls)://([\w.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})",
)


def day(value: str) -> str:
    """A date as ISO 8601: a day, or where no more is known a month or a year."""
    for form in ("%Y-%m-%d", "%Y-%m", "%Y"):
        try:
            found = datetime.strptime(value, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        if found.strftime(form) == value:
            return value
    raise argparse.ArgumentTypeError(f"{value!r} is no date; write 2026-11-01, 2026-11 or 2026")


def share(value: str) -> float:
    """A number from 0 to 1."""
    try:
        found = float(value)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise argparse.ArgumentTypeError(f"{value!r} is no share; write 0 to 1, as 0.01")
    return found


def gibibytes(value: str) -> int:
    """An amount of memory in GiB, as bytes."""
    try:
        found = int(float(value) * processes.GIB)
    except (ValueError, OverflowError):
        found = 0
    if found <= 0:
        raise argparse.ArgumentTypeError(
            f"{value!r} is no amount of memory; write GiB, as 6 or 1.5"
        )
    return found


def countries(value: str) -> tuple[str, ...]:
    """Country codes with commas between them, as `pays.csv` spells them."""
    found = tuple(part.strip().upper() for part in value.split(",") if part.strip())
    if not found:
        raise argparse.ArgumentTypeError(f"{value!r} names no country; write --pays EE,UK")
    return _check_countries(found)


def minimum(value: str) -> tuple[str, int]:
    """`N` or `ISO2=N`: a country, or `publication.EVERYWHERE`, and its least companies."""
    iso2, given, number = value.rpartition("=")
    iso2 = iso2.strip().upper()
    if not number.isascii() or not number.isdigit() or (given and not iso2):
        raise argparse.ArgumentTypeError(
            f"{value!r} is no number of companies; write 18000000, or UK=2500000 for a country"
        )
    return _check_countries((iso2,))[0] if given else publication.EVERYWHERE, int(number)


def scheduler(value: str) -> str:
    """The address of a Dask scheduler. Dask's client would retry a malformed one until it fails."""
    found = _SCHEDULER.fullmatch(value)
    if not found or not 0 < int(found["port"]) < 1 << 16:
        raise argparse.ArgumentTypeError(
            f"{value!r} is no address of a scheduler; write tcp://10.0.0.1:8786, or tls://"
        )
    return value


_seeds = cache(seeds.read)  # up to 26 values of --minimum need the tables


def _check_countries(codes: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(plan.wanted_countries(codes, _seeds()))
    except BuildError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
