"""Impossible values become null and are counted by field and reason; the company stays.

Files of registers and of operators contain dates of the years 0001 and 9999, negative capital, `n/a` for a telephone.
Such a value says nothing about the company. The rules apply to the rows of all sources:

- A placeholder of `seeds/valeurs_vides.csv` is an unknown value. Its pattern matches the whole text, in upper or lower
  case. Names and identifiers have no placeholders: a company can be called Null Ltd.
- A date is `YYYY-MM-DD`, `YYYY-MM` or `YYYY` (contract C8) of a year from 1000 on. A date of creation after the date of
  its file becomes null, even if the company is announced: the date is served from the first file of that day or a later
  day on. So the company is not first in the order `recent` before that day. For a row whose file has no date, the end
  of `latest_year` is the limit.
- An amount is finite and, with its multiplier, at most MOST_MONEY; a capital is not negative. A headcount is from 0 to
  MOST_STAFF. A multiplier is positive; with any other multiplier, the amount also becomes null. A fiscal year is from
  EARLIEST to the year after the date of the file. A currency is three capitals. Codes of an unknown revision of the
  NACE become null.
- A website, a page and a domain have a host. A telephone and a VAT number have a digit that is not zero. An LEI has the
  form of ISO 17442.

Other modules count wrong check digits, unknown activity codes and missing rates, by their own rules.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from pipeline.canonical import COMPANIES, TEXT, TEXTS
from pipeline.seeds import Seeds, read_patterns
from pipeline.stages import derived_fields

EARLIEST: Final = 1800  # the first plausible fiscal year
# Units of any currency: about a hundred times the largest balance sheet of the world.
MOST_MONEY: Final = 1e15
MOST_STAFF: Final = 10_000_000  # four times the largest employer of the world
LEI_PATTERN: Final = r"^[0-9A-Z]{18}[0-9]{2}$"  # ISO 17442
# Reasons, as the quality report names them.
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

# The columns to which the rules apply. _MULTIPLIED: amount -> its multiplier.
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
# The last plausible year of a row without the date of its file is this number of years after the newest rate in
# `seeds/taux.csv`.
_YEARS_AFTER_RATES: Final = 3

PatternsByColumn = Mapping[str, str]  # the regular expression of a column


class Rule(NamedTuple):
    """A reason why a value is impossible.

    Attributes:
        field: the field that is counted.
        fault: whether the value is impossible; null counts as false.
        cleared: further fields that become null.
    """

    field: str
    reason: str
    fault: pl.Expr
    cleared: tuple[str, ...] = ()


def placeholders(seeds: Seeds, iso2: str) -> PatternsByColumn:
    """The placeholders of a country: one regular expression for each column with placeholders.

    Raises:
        SeedError: a row names an unknown column, or its pattern is not a regular expression.
    """
    patterns = read_patterns("valeurs_vides", seeds.tables["valeurs_vides"], _COLUMNS, iso2)
    return {name: rf"(?i)^(?:{'|'.join(motifs)})$" for name, motifs in patterns.items()}


def latest_year(rates: pl.DataFrame) -> int:
    """The last plausible year of a date or fiscal year in a row without the date of its file."""
    newest = rates["annee"].max()
    assert isinstance(newest, int)
    return newest + _YEARS_AFTER_RATES


def leave_out(
    companies: pl.DataFrame, patterns: PatternsByColumn, last_year: int
) -> tuple[pl.DataFrame, Counter[str]]:
    """Replace impossible values with null; return the companies, and the numbers of values by `reason (field)`."""
    counts: Counter[str] = Counter()
    companies = _leave_out_of_lists(companies, patterns, counts)
    for rules in (
        _placeholder_rules(patterns),
        _form_rules(),
        _bound_rules(last_year),
        _file_date_rules(),
    ):
        companies = _apply_rules(companies, list(rules), counts)
    return companies, counts


def _apply_rules(
    companies: pl.DataFrame, rules: Sequence[Rule], counts: Counter[str]
) -> pl.DataFrame:
    """Set the values that `rules` refuse to null, and add their numbers to `counts` by `reason (field)`.

    Every rule sees the values before any is set to null, so the order of the rules does not matter.
    """
    masks = companies.select(
        rule.fault.fill_null(False).alias(str(number)) for number, rule in enumerate(rules)
    )
    cleared: dict[str, pl.Series] = {}
    for rule, mask in zip(rules, masks, strict=True):
        if refused_count := int(mask.sum()):
            counts[f"{rule.reason} ({rule.field})"] += refused_count
            for name in (rule.field, *rule.cleared):
                cleared[name] = cleared[name] | mask if name in cleared else mask
    return companies.with_columns(
        pl.when(~mask).then(pl.col(name)).alias(name) for name, mask in cleared.items()
    )


def _placeholder_rules(patterns: PatternsByColumn) -> Iterator[Rule]:
    """The rules for placeholders in columns of single texts."""
    for name, pattern in patterns.items():
        if COMPANIES[name] == TEXT:
            yield Rule(name, PLACEHOLDER, pl.col(name).str.contains(pattern))


def _leave_out_of_lists(
    companies: pl.DataFrame, patterns: PatternsByColumn, counts: Counter[str]
) -> pl.DataFrame:
    """Remove the placeholders from columns of lists; a list without other texts becomes null."""
    for name in (name for name in patterns if COMPANIES[name] == TEXTS):
        other_texts = pl.col(name).list.eval(
            pl.element().filter(~pl.element().str.contains(patterns[name]))
        )
        lengths = companies.select(before=pl.col(name).list.len(), after=other_texts.list.len())
        if removed := int(lengths.select(pl.col("before") - pl.col("after")).sum().item() or 0):
            counts[f"{PLACEHOLDER} ({name})"] += removed
            companies = companies.with_columns(
                pl.when(other_texts.list.len() > 0).then(other_texts).alias(name)
            )
    return companies


def _form_rules() -> Iterator[Rule]:
    """The rules for the form of a value, which need no bounds and no other column."""
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
    yield Rule("lei", NO_LEI, ~pl.col("lei").str.contains(LEI_PATTERN))
    for name in ("telephone", "tva"):
        yield Rule(name, NO_NUMBER, ~pl.col(name).str.contains(r"[1-9]"))
    for name in ("site_web", "domaine", "url_registre"):
        host = pl.col(name).str.to_lowercase().str.contains(derived_fields.HOST)
        yield Rule(name, NO_HOST, ~host)


def is_date(text: pl.Expr) -> pl.Expr:
    """Whether a text is YYYY, YYYY-MM or a valid YYYY-MM-DD (contract C8)."""
    is_day = text.str.contains(r"^[12][0-9]{3}-[0-9]{2}-[0-9]{2}$") & (
        text.str.to_date("%Y-%m-%d", strict=False).is_not_null()
    )
    return is_day | text.str.contains(r"^[12][0-9]{3}(-(0[1-9]|1[0-2]))?$")


def _bound_rules(last_year: int) -> Iterator[Rule]:
    """The rules for the sizes of amounts and headcounts, and for years after `last_year`."""
    for name in _AMOUNTS:
        multiplier = pl.col(_MULTIPLIED[name]).fill_null(1) if name in _MULTIPLIED else 1
        size = pl.col(name).abs() * multiplier
        if name == "capital_social":
            # A negative capital is impossible, so it counts as larger than every bound.
            size = pl.when(pl.col(name) < 0).then(float("inf")).otherwise(size)
        yield Rule(name, HUGE, size > MOST_MONEY)
    staff = pl.col("effectif").is_between(0, MOST_STAFF)
    yield Rule("effectif", NO_STAFF, ~staff)
    for name in _YEARS:
        yield Rule(name, NO_YEAR, ~pl.col(name).is_between(EARLIEST, last_year))
    for name in _DATES:
        year = pl.col(name).str.head(4).cast(pl.Int32, strict=False)
        yield Rule(name, LATER, year > last_year)


def _file_date_rules() -> Iterator[Rule]:
    """The rules that compare dates and years with the date of the file."""
    # The date of the file can be a month or a year, so a date of creation is cut to its length.
    source, created = pl.col("date_source"), pl.col("date_creation")
    yield Rule("date_creation", LATER, created.str.head(source.str.len_chars()) > source)
    year = source.str.head(4).cast(pl.Int64, strict=False)
    for name in _YEARS:
        yield Rule(name, NO_YEAR, pl.col(name) > year + 1)
