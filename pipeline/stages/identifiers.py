"""Identifiers: the link to the register, conformity to the register's format, and companies that come twice.

A company without a national number is identified by its LEI (decision 058): its page is that of the LEI data, since a
national register knows no LEI.

Wrong formats (`id_regex`) and check digits (python-stdnum) are counted for the quality report and
are never a reason to reject. A module of stdnum that refuses the register's own example checks
another number (pl.nip is not KRS), so it is skipped. A check digit costs some microseconds, so at
most SAMPLE identifiers are checked, evenly spaced in layout order.

A duplicate is the only fault of a row that stops a build at once (contract E3): a record is addressed by country and
identifier, and the build cannot know which of two is right. The message names the duplicates with their files; if a
register was imported twice into one folder, such as its editions of two months, it says so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.errors import BuildError, SeedError
from pipeline.seeds import Country
from pipeline.stages import input_files, text_cleaning

SAMPLE: Final = 25_000
# Only an identifier without escapes goes into an address.
_UNRESERVED: Final = r"^[A-Za-z0-9._~-]+$"  # RFC 3986 §2.3
_ID: Final = "{id}"
_LEI_PAGE: Final = "https://search.gleif.org/#/record/"
NAMED: Final = 10  # identifiers in the message
# Two files hold the same register if each has _NEARLY all of the duplicates and _MOSTLY duplicates:
# from one month to the next a few companies in a hundred come or go.
_NEARLY: Final = 0.9
_MOSTLY: Final = 0.5


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


# -- duplicates ----------------------------------------------------------------------


def refuse_duplicates(companies: pl.LazyFrame, iso2: str, files: Sequence[Path]) -> None:
    """Stop if an identifier of `companies`, all of one country, comes twice.

    Raises:
        BuildError: the files that each hold the whole register; else up to NAMED identifiers and
            their files.
    """
    repeated = companies.group_by("id").len().filter(pl.col("len") > 1).select("id").sort("id")
    found = repeated.collect(engine="streaming")["id"]
    if found.is_empty():
        return
    whole = _whole_registers(found, iso2, files) if len(found) > NAMED else []
    if len(whole) > 1:
        raise BuildError(
            f"{iso2}: {len(found)} identifiers come more than once: {' and '.join(whole)} "
            f"{'both' if len(whole) == 2 else 'all'} hold the whole register; "
            f"delete {'the older of them' if len(whole) == 2 else 'all but the newest'}"
        )
    named = [
        f"{identifier} ({_files_with(identifier, iso2, files)})" for identifier in found[:NAMED]
    ]
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    raise BuildError(
        f"{iso2}: {len(found)} identifiers come more than once: {', '.join(named)}{more}; "
        "take out all but one of each"
    )


def refuse_duplicates_in_import(files: Sequence[Path]) -> None:
    """Stop if a company comes twice in the files of one import.

    Raises:
        BuildError: as `refuse`.
    """
    if not files:
        return
    rows = pl.scan_parquet(list(files)).select("iso2", id=clean_identifier())
    keys = rows.with_columns(key=pl.struct("iso2", "id").hash())
    hashes = keys.select("key").collect(engine="streaming")["key"]
    if hashes.n_unique() == len(hashes):
        return
    again = hashes.filter(hashes.is_duplicated()).unique()
    doubtful = keys.join(again.to_frame().lazy(), on="key", how="semi")
    for iso2 in doubtful.select(pl.col("iso2").drop_nulls().unique().sort()).collect()["iso2"]:
        refuse_duplicates(doubtful.filter(pl.col("iso2") == iso2), iso2, files)


def _whole_registers(repeated: pl.Series, iso2: str, files: Sequence[Path]) -> list[str]:
    """The files that hold nearly all of `repeated` and little else."""
    whole = []
    for file in files:
        ids = input_files.keep_country(pl.scan_parquet(file).select("iso2", "id"), iso2).select(
            clean_identifier()
        )
        again = ids.join(repeated.to_frame().lazy(), on="id", how="semi").unique()
        rows, both = (
            int(frame.select(pl.len()).collect(engine="streaming").item()) for frame in (ids, again)
        )
        if both >= _NEARLY * len(repeated) and both >= _MOSTLY * rows:
            whole.append(str(file))
    return sorted(whole)


def clean_identifier() -> pl.Expr:
    """The identifier as `text_cleaning.clean` leaves it."""
    return text_cleaning.identifier(pl.col("id").str.normalize("NFC").str.strip_chars())


def _files_with(identifier: str, iso2: str, files: Sequence[Path]) -> str:
    """The names of the files that hold an identifier, with the count where it is over one."""
    names = []
    for file in files:
        rows = input_files.keep_country(pl.scan_parquet(file).select("iso2", "id"), iso2)
        count = rows.filter(clean_identifier() == identifier).select(pl.len()).collect().item()
        if count:
            names.append(file.name if count == 1 else f"{count} times in {file.name}")
    return ", ".join(sorted(names))
