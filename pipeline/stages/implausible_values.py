"""Values that cannot be: they become null and are counted by field and reason, and the company stays.

A register, or a file of one's own, has dates of the year 0001 and 9999, negative capital, `n/a` for a telephone. Such a
value says nothing of the company, and nothing against it. The rules, for the rows of all sources:

- A placeholder of `seeds/valeurs_vides.csv` stands for an unknown value. A pattern there matches the whole text, in any
  case. Names and identifiers have none: a company may be called Null Ltd, and a town None.
- A date is `YYYY-MM-DD`, `YYYY-MM` or `YYYY` (contract C8) of a year from 1000 on. A date of creation after the date of
  its file is unknown, also of a company that is announced: it has its date as soon as the day has come, and until then
  it does not lead the order `recent`. Of a row whose file has no date, the end of `latest_year` is the limit.
- An amount is finite and, with its multiplier, at most MOST_MONEY; a capital is not negative. A headcount is from 0 to
  MOST_STAFF. A multiplier is positive, and an amount without a sound one is unknown, too. A
  fiscal year is from EARLIEST to the year after the date of the file. A currency is three capitals. A code of an
  unknown revision of the NACE means nothing.
- A website, a page and a domain have a host, a telephone and a VAT number a digit that is not zero, an LEI the form of
  ISO 17442.

Check digits, activity codes and rates are counted elsewhere, and the value stays or is null by its own rule.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from pipeline.canonical import COMPANIES, TEXT, TEXTS
from pipeline.seeds import Seeds, read_patterns
from pipeline.stages import derived_fields

EARLIEST: Final = 1800  # fiscal years
MOST_MONEY: Final = 1e15  # in any currency: a hundred times the largest balance sheet of the world
MOST_STAFF: Final = 10_000_000  # four times the largest employer of the world
LEI: Final = r"^[0-9A-Z]{18}[0-9]{2}$"  # ISO 17442
PLACEHOLDER: Final = "valeur de remplissage"
NO_DATE: Final = "date impossible"
LATER: Final = "date postérieure au fichier"
INFINITE: Final = "montant non fini"
HUGE: Final = "montant invraisemblable"
NO_MULTIPLIER: Final = "multiplicateur nul ou négatif"
NO_STAFF: Final = "effectif invraisemblable"
NO_YEAR: Final = "exercice invraisemblable"
NO_CURRENCY: Final = "devise illisible"
NO_REVISION: Final = "version de la NACE inconnue"
NO_LEI: Final = "LEI mal formé"
NO_NUMBER: Final = "numéro sans chiffre"
NO_HOST: Final = "adresse sans hôte"
REASONS: Final = (
    *(PLACEHOLDER, NO_DATE, LATER, INFINITE, HUGE, NO_MULTIPLIER, NO_STAFF, NO_YEAR, NO_CURRENCY),
    *(NO_REVISION, NO_LEI, NO_NUMBER, NO_HOST),
)

_DATES: Final = ("date_creation", "date_source")
_AMOUNTS: Final = ("capital_social", "ca_eur", "ca_last", "total_actif_last")
_MULTIPLIED: Final = {"ca_last": "ca_mult", "total_actif_last": "unite_mult"}
_CURRENCIES: Final = ("capital_devise", "ca_devise", "devise")
_YEARS: Final = ("ca_year", "exercice_actif")
_NO_PLACEHOLDER: Final = frozenset({"iso2", "id", "nom"})
_COLUMNS: Final = tuple(
    name
    for name, dtype in COMPANIES.items()
    if dtype in (TEXT, TEXTS) and name not in _NO_PLACEHOLDER
)
# Years after the newest one with a rate in `seeds/taux.csv` that a row without a date of its file may have.
_YEARS_AFTER_RATES: Final = 3

Counts = Mapping[str, int]
Patterns = Mapping[str, str]  # the regular expression of a column


class Rule(NamedTuple):
    """A reason why a value cannot be.

    Attributes:
        field: the field that is counted.
        fault: true where the value cannot be; null counts as false.
        cleared: the fields that become null with it.
    """

    field: str
    reason: str
    fault: pl.Expr
    cleared: tuple[str, ...] = ()


def placeholders(seeds: Seeds, iso2: str) -> Patterns:
    """The placeholders of a country, one regular expression for each column that has any.

    Raises:
        SeedError: a row names an unknown column, or its pattern is no regular expression.
    """
    patterns = read_patterns("valeurs_vides", seeds.tables["valeurs_vides"], _COLUMNS, iso2)
    return {name: rf"(?i)^(?:{'|'.join(motifs)})$" for name, motifs in patterns.items()}


def latest_year(rates: pl.DataFrame) -> int:
    """The last year of a date in a row without the date of its file."""
    newest = rates["annee"].max()
    assert isinstance(newest, int)
    return newest + _YEARS_AFTER_RATES


def leave_out(
    companies: pl.DataFrame, patterns: Patterns, last_year: int
) -> tuple[pl.DataFrame, Counter[str]]:
    """Make every value that cannot be null; return how many, by `reason (field)`."""
    counts: Counter[str] = Counter()
    companies = _leave_out_of_lists(companies, patterns, counts)
    for rules in (_placeholders(patterns), _forms(), _bounds(last_year), _after_the_file()):
        companies = _apply(companies, list(rules), counts)
    return companies, counts


def _apply(companies: pl.DataFrame, rules: Sequence[Rule], counts: Counter[str]) -> pl.DataFrame:
    """Apply rules of different fields at once. Most of them meet no row, and these change nothing."""
    masks = companies.select(
        rule.fault.fill_null(False).alias(str(number)) for number, rule in enumerate(rules)
    )
    cleared: dict[str, pl.Series] = {}
    for rule, mask in zip(rules, masks, strict=True):
        if hits := int(mask.sum()):
            counts[f"{rule.reason} ({rule.field})"] += hits
            for name in (rule.field, *rule.cleared):
                cleared[name] = cleared[name] | mask if name in cleared else mask
    return companies.with_columns(
        pl.when(~mask).then(pl.col(name)).alias(name) for name, mask in cleared.items()
    )


def _placeholders(patterns: Patterns) -> Iterator[Rule]:
    for name, pattern in patterns.items():
        if COMPANIES[name] == TEXT:
            yield Rule(name, PLACEHOLDER, pl.col(name).str.contains(pattern))


def _leave_out_of_lists(
    companies: pl.DataFrame, patterns: Patterns, counts: Counter[str]
) -> pl.DataFrame:
    for name in (name for name in patterns if COMPANIES[name] == TEXTS):
        left = pl.col(name).list.eval(
            pl.element().filter(~pl.element().str.contains(patterns[name]))
        )
        lengths = companies.select(before=pl.col(name).list.len(), after=left.list.len())
        if gone := int(lengths.select(pl.col("before") - pl.col("after")).sum().item() or 0):
            counts[f"{PLACEHOLDER} ({name})"] += gone
            companies = companies.with_columns(pl.when(left.list.len() > 0).then(left).alias(name))
    return companies


def _forms() -> Iterator[Rule]:
    """The rules of a value alone."""
    for name in _DATES:
        yield Rule(name, NO_DATE, ~is_date(pl.col(name)))
    for name in _AMOUNTS:
        yield Rule(name, INFINITE, ~pl.col(name).is_finite())
    for amount, multiplier in _MULTIPLIED.items():
        yield Rule(multiplier, NO_MULTIPLIER, pl.col(multiplier) <= 0, (amount,))
    for name in _CURRENCIES:
        yield Rule(name, NO_CURRENCY, ~pl.col(name).str.contains(r"^[A-Z]{3}$"))
    unknown = ~pl.col("nace_version").is_in(["2", "2.1"])
    yield Rule("nace_version", NO_REVISION, unknown, ("nace_code", "nace_secondaires"))
    yield Rule("lei", NO_LEI, ~pl.col("lei").str.contains(LEI))
    for name in ("telephone", "tva"):
        yield Rule(name, NO_NUMBER, ~pl.col(name).str.contains(r"[1-9]"))
    for name in ("site_web", "domaine", "url_registre"):
        host = pl.col(name).str.to_lowercase().str.contains(derived_fields.HOST)
        yield Rule(name, NO_HOST, ~host)


def is_date(text: pl.Expr) -> pl.Expr:
    """Whether a text is YYYY, YYYY-MM or a YYYY-MM-DD of the calendar (contract C8)."""
    whole = text.str.contains(r"^[12][0-9]{3}-[0-9]{2}-[0-9]{2}$") & (
        text.str.to_date("%Y-%m-%d", strict=False).is_not_null()
    )
    return whole | text.str.contains(r"^[12][0-9]{3}(-(0[1-9]|1[0-2]))?$")


def _bounds(last_year: int) -> Iterator[Rule]:
    """The rules of numbers that are finite, and of years."""
    for name in _AMOUNTS:
        times = pl.col(_MULTIPLIED[name]).fill_null(1) if name in _MULTIPLIED else 1
        size = pl.col(name).abs() * times
        if name == "capital_social":
            size = pl.when(pl.col(name) < 0).then(float("inf")).otherwise(size)
        yield Rule(name, HUGE, size > MOST_MONEY)
    staff = pl.col("effectif").is_between(0, MOST_STAFF)
    yield Rule("effectif", NO_STAFF, ~staff)
    for name in _YEARS:
        yield Rule(name, NO_YEAR, ~pl.col(name).is_between(EARLIEST, last_year))
    for name in _DATES:
        year = pl.col(name).str.head(4).cast(pl.Int32, strict=False)
        yield Rule(name, LATER, year > last_year)


def _after_the_file() -> Iterator[Rule]:
    """The rules of dates that are held against that of the file, which may be a month or a year."""
    source, created = pl.col("date_source"), pl.col("date_creation")
    yield Rule("date_creation", LATER, created.str.head(source.str.len_chars()) > source)
    year = source.str.head(4).cast(pl.Int64, strict=False)
    for name in _YEARS:
        yield Rule(name, NO_YEAR, pl.col(name) > year + 1)
