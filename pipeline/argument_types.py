"""Types of command-line arguments: a text becomes a value, or an error that names the value and the remedy."""

import argparse
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from pipeline import seeds
from pipeline.errors import BuildError
from pipeline.publishing import plan
from pipeline.workers import processes
from shards.generations import publication

_SCHEDULER: Final = re.compile(
    r"(tcp|tls)://([\w.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})",
)


def day(value: str) -> str:
    """A date in ISO 8601: a day, a month or a year; the text is returned unchanged."""
    for date_format in ("%Y-%m-%d", "%Y-%m", "%Y"):
        try:
            date = datetime.strptime(value, date_format).replace(tzinfo=UTC)
        except ValueError:
            continue
        # `strptime` also accepts 2026-1-1, which is not ISO 8601.
        if date.strftime(date_format) == value:
            return value
    raise argparse.ArgumentTypeError(f"{value!r} is not a date; write 2026-11-01, 2026-11 or 2026")


def share(value: str) -> float:
    """A number from 0 to 1."""
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{value!r} is not a share; write 0 to 1, such as 0.01")
    return number


def gibibytes(value: str) -> int:
    """An amount of memory in GiB, as bytes."""
    try:
        size = int(float(value) * processes.GIB)
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise argparse.ArgumentTypeError(
            f"{value!r} is not an amount of memory; write GiB, such as 6 or 1.5"
        )
    return size


def countries(value: str) -> tuple[str, ...]:
    """Country codes separated by commas; returns them with the spelling of `pays.csv`."""
    codes = tuple(part.strip().upper() for part in value.split(",") if part.strip())
    if not codes:
        raise argparse.ArgumentTypeError(f"{value!r} names no country; write --pays EE,UK")
    return _check_countries(codes)


def minimum(value: str) -> tuple[str, int]:
    """`ISO2=N` or `N`: the country, or `publication.EVERYWHERE` for the total, and the least number of companies."""
    iso2, separator, number = value.rpartition("=")
    iso2 = iso2.strip().upper()
    if not number.isascii() or not number.isdigit() or (separator and not iso2):
        raise argparse.ArgumentTypeError(
            f"{value!r} is not a number of companies; write 18000000, or UK=2500000 for a country"
        )
    return _check_countries((iso2,))[0] if separator else publication.EVERYWHERE, int(number)


def unique_minimums(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The least numbers of companies by country, from the values of `minimum`; each country has one."""
    minimums: dict[str, int] = {}
    for iso2, number in pairs:
        if iso2 in minimums:
            # The country of a minimum of the total is the empty text (publication.EVERYWHERE).
            raise argparse.ArgumentTypeError(
                f"{iso2 or 'the total'} has several minimums; give one"
            )
        minimums[iso2] = number
    return minimums


class StoreMinimums(argparse.Action):
    """Store the values of `--minimum`, which can be given several times, by country."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Add the values to those of earlier options; see `argparse.Action`."""
        earlier: dict[str, int] = getattr(namespace, self.dest)
        try:
            minimums = unique_minimums([*earlier.items(), *(values or ())])
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from error
        setattr(namespace, self.dest, minimums)


def scheduler(value: str) -> str:
    """The address of a Dask scheduler, checked here because Dask's client would retry a malformed address for long."""
    match = _SCHEDULER.fullmatch(value)
    if not match or not 0 < int(match["port"]) < 1 << 16:
        raise argparse.ArgumentTypeError(
            f"{value!r} is not an address of a scheduler; write tcp://10.0.0.1:8786, or tls://"
        )
    return value


_seeds = cache(seeds.read)  # read once for all values of --minimum


def _check_countries(codes: tuple[str, ...]) -> tuple[str, ...]:
    """The codes with the spelling of `pays.csv`; an unknown country is an error."""
    try:
        return tuple(plan.countries_to_build(codes, _seeds()))
    except BuildError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
