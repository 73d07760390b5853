"""Identifiers: the link to the register, and conformity to the register's format.

A company without a national number is identified by its LEI (decision 058): its page is that of the LEI data, since a
national register knows no LEI.

Wrong formats (`id_regex`) and check digits (python-stdnum) are counted for the quality report and
are never a reason to reject. A module of stdnum that refuses the register's own example checks
another number (pl.nip is not KRS), so it is skipped. A check digit costs some microseconds, so at
most SAMPLE identifiers are checked, evenly spaced in layout order.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final

import polars as pl

from pipeline.errors import SeedError
from pipeline.seeds import Country

SAMPLE: Final = 25_000
# Only an identifier without escapes goes into an address.
_UNRESERVED: Final = r"^[A-Za-z0-9._~-]+$"  # RFC 3986 §2.3
_ID: Final = "{id}"
_LEI_PAGE: Final = "https://search.gleif.org/#/record/"


@dataclass(frozen=True, slots=True)
class Conformity:
    """Counts: identifiers of another format, checked check digits, wrong check digits."""

    hors_format: int
    cles_verifiees: int
    cles_fausses: int


def fill_register_url(companies: pl.LazyFrame, country: Country) -> pl.LazyFrame:
    """Fill `url_registre`: the page of the LEI, or by the template of the country, if it has one."""
    by_lei = pl.when(pl.col("id") == pl.col("lei")).then(pl.lit(_LEI_PAGE) + pl.col("id"))
    made: pl.Expr = by_lei
    if country.url_fiche:
        before, _, after = country.url_fiche.partition(_ID)
        address = pl.concat_str(pl.lit(before), pl.col("id"), pl.lit(after))
        made = by_lei.when(pl.col("id").str.contains(_UNRESERVED)).then(address)
    return companies.with_columns(pl.coalesce("url_registre", made).alias("url_registre"))


def conformity(ids: pl.Series, country: Country) -> Conformity:
    """Count the identifiers of a country that break its format or its check digit.

    Raises:
        SeedError: a pattern or module of `pays.csv` that cannot be used.
    """
    sample = ids.gather_every(max(1, -(-len(ids) // SAMPLE))).to_list()
    checked = _check(sample, country)
    return Conformity(len(misshapen(ids, country)), len(checked), checked.count(False))


def misshapen(ids: pl.Series, country: Country) -> pl.Series:
    """The identifiers that do not have the format of the country.

    Raises:
        SeedError: a pattern of `pays.csv` that cannot be used.
    """
    if not country.id_regex:
        return ids.clear()
    try:
        return ids.filter(~ids.str.contains(country.id_regex))
    except pl.exceptions.ComputeError as error:
        raise SeedError(
            f"pays.csv: id_regex {country.id_regex!r} of {country.iso2} is no pattern; mend it"
        ) from error


def _check(ids: Sequence[str], country: Country) -> list[bool]:
    if not re.fullmatch(r"[a-z]{2}\.[a-z_]+", country.stdnum_module):
        return []
    try:
        is_valid = import_module(f"stdnum.{country.stdnum_module}").is_valid
    except ModuleNotFoundError as error:
        raise SeedError(
            f"pays.csv: python-stdnum has no module {country.stdnum_module!r} "
            f"({country.iso2}); name another or leave it empty"
        ) from error
    if not is_valid(country.id_exemple):
        return []
    return [bool(is_valid(identifier)) for identifier in ids]
