"""Identifiers: the link to the register, conformity to the register's format, and duplicates.

A company without a national number is identified by its LEI (decision 058). Its `url_registre` is the page of the LEI
at GLEIF, because national registers have no pages by LEI.

Identifiers of a wrong format (`id_regex`) or with wrong check digits (python-stdnum) are counted for the quality report
and not rejected. A module of stdnum that refuses the example identifier of the register is for another number (`pl.nip`
is not KRS), so it is not used. The check of one identifier takes some microseconds, so at most SAMPLE identifiers are
checked, evenly spaced in layout order.

A duplicate stops a build at once (contract E3): a record is addressed by country and identifier, and the build cannot
know which of two rows is right. The message names the duplicates with their files. If a register was imported twice
into one folder, such as its editions of two months, the message says so.
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

SAMPLE: Final = 25_000  # the most identifiers of a country whose check digits are checked
# Identifiers of these characters need no escapes in a web address; other identifiers get no `url_registre`.
_UNRESERVED: Final = r"^[A-Za-z0-9._~-]+$"  # RFC 3986 §2.3
# The place of the identifier in `url_fiche`.
_ID_PLACEHOLDER: Final = "{id}"
_LEI_PAGE: Final = "https://search.gleif.org/#/record/"
MOST_NAMED: Final = 10  # the most duplicates that the message names
# A file counts as a complete copy of the register if it has at least this share of all duplicates, and at least this
# share of its rows are duplicates. Copies of two months also count: in a month, few companies are added or removed.
_LEAST_OF_DUPLICATES: Final = 0.9
_LEAST_OF_ROWS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Conformity:
    """The numbers of identifiers: of another format, with checked check digits, with wrong check digits."""

    hors_format: int
    cles_verifiees: int
    cles_fausses: int


def fill_register_url(companies: pl.LazyFrame, country: Country) -> pl.LazyFrame:
    """Fill `url_registre`: the page of the LEI, or the template of the country, if it has one."""
    by_lei = pl.when(pl.col("id") == pl.col("lei")).then(pl.lit(_LEI_PAGE) + pl.col("id"))
    page: pl.Expr = by_lei
    if country.url_fiche:
        before, _, after = country.url_fiche.partition(_ID_PLACEHOLDER)
        address = pl.concat_str(pl.lit(before), pl.col("id"), pl.lit(after))
        page = by_lei.when(pl.col("id").str.contains(_UNRESERVED)).then(address)
    return companies.with_columns(pl.coalesce("url_registre", page).alias("url_registre"))


def conformity(ids: pl.Series, country: Country) -> Conformity:
    """Count the identifiers of a country that break its format or its check digit.

    Raises:
        SeedError: `pays.csv` has an invalid pattern or an unknown module.
    """
    # Every k-th identifier, with the least k that gives at most SAMPLE identifiers.
    sample = ids.gather_every(max(1, -(-len(ids) // SAMPLE))).to_list()
    checked = _are_check_digits_right(sample, country)
    return Conformity(len(invalid_identifiers(ids, country)), len(checked), checked.count(False))


def invalid_identifiers(ids: pl.Series, country: Country) -> pl.Series:
    """The identifiers that do not have the format of the country.

    Raises:
        SeedError: `pays.csv` has an invalid pattern.
    """
    if not country.id_regex:
        return ids.clear()
    try:
        return ids.filter(~ids.str.contains(country.id_regex))
    except pl.exceptions.ComputeError as error:
        raise SeedError(
            f"pays.csv: id_regex {country.id_regex!r} of {country.iso2} is not a pattern; mend it"
        ) from error


def _are_check_digits_right(ids: Sequence[str], country: Country) -> list[bool]:
    """Whether the check digits of each identifier are right; empty if no module checks this country."""
    if not re.fullmatch(r"[a-z]{2}\.[a-z_]+", country.stdnum_module):
        return []
    try:
        is_valid = import_module(f"stdnum.{country.stdnum_module}").is_valid
    except ModuleNotFoundError as error:
        raise SeedError(
            f"pays.csv: python-stdnum has no module {country.stdnum_module!r} "
            f"({country.iso2}); name another or leave it empty"
        ) from error
    # The module refuses even the example of `pays.csv`, so it checks another number than the register's.
    if not is_valid(country.id_exemple):
        return []
    return [bool(is_valid(identifier)) for identifier in ids]


# -- duplicates ----------------------------------------------------------------------


def refuse_duplicates(companies: pl.LazyFrame, iso2: str, files: Sequence[Path]) -> None:
    """Stop if an identifier of `companies`, all of one country, comes twice.

    Raises:
        BuildError: an identifier comes twice. The message names the files that each contain the complete
            register, or else up to MOST_NAMED identifiers with their files.
    """
    repeated = companies.group_by("id").len().filter(pl.col("len") > 1).select("id").sort("id")
    duplicates = repeated.collect(engine="streaming")["id"]
    if duplicates.is_empty():
        return
    complete_files = (
        _complete_copies(duplicates, iso2, files) if len(duplicates) > MOST_NAMED else []
    )
    if len(complete_files) > 1:
        raise BuildError(
            f"{iso2}: {len(duplicates)} identifiers come more than once: {' and '.join(complete_files)} "
            f"{'both' if len(complete_files) == 2 else 'all'} contain the whole register; "
            f"delete {'the older of them' if len(complete_files) == 2 else 'all but the newest'}"
        )
    examples = [
        f"{identifier} ({_files_with(identifier, iso2, files)})"
        for identifier in duplicates[:MOST_NAMED]
    ]
    unnamed = f" and {len(duplicates) - MOST_NAMED} more" if len(duplicates) > MOST_NAMED else ""
    raise BuildError(
        f"{iso2}: {len(duplicates)} identifiers come more than once: {', '.join(examples)}{unnamed}; "
        "keep one of each"
    )


def refuse_duplicates_in_import(files: Sequence[Path]) -> None:
    """Stop if a company comes twice in the files of one import.

    Raises:
        BuildError: as `refuse_duplicates`.
    """
    if not files:
        return
    rows = pl.scan_parquet(list(files)).select("iso2", id=clean_identifier())
    keys = rows.with_columns(key=pl.struct("iso2", "id").hash())
    hashes = keys.select("key").collect(engine="streaming")["key"]
    if hashes.n_unique() == len(hashes):
        return
    # Hashes need little memory, but two companies can have one hash, so `refuse_duplicates` compares identifiers.
    repeated_hashes = hashes.filter(hashes.is_duplicated()).unique()
    suspected = keys.join(repeated_hashes.to_frame().lazy(), on="key", how="semi")
    for iso2 in suspected.select(pl.col("iso2").drop_nulls().unique().sort()).collect()["iso2"]:
        refuse_duplicates(suspected.filter(pl.col("iso2") == iso2), iso2, files)


def _complete_copies(repeated: pl.Series, iso2: str, files: Sequence[Path]) -> list[str]:
    """The files that are complete copies of the register.

    A file is a copy if it has at least the share _LEAST_OF_DUPLICATES of the repeated identifiers, and if at least the
    share _LEAST_OF_ROWS of its rows has such an identifier.

    Args:
        repeated: the identifiers that come more than once.
    """
    complete_files = []
    for file in files:
        ids = input_files.keep_country(pl.scan_parquet(file).select("iso2", "id"), iso2).select(
            clean_identifier()
        )
        duplicates = ids.join(repeated.to_frame().lazy(), on="id", how="semi").unique()
        row_count, duplicate_count = (
            int(frame.select(pl.len()).collect(engine="streaming").item())
            for frame in (ids, duplicates)
        )
        if (
            duplicate_count >= _LEAST_OF_DUPLICATES * len(repeated)
            and duplicate_count >= _LEAST_OF_ROWS * row_count
        ):
            complete_files.append(str(file))
    return sorted(complete_files)


def clean_identifier() -> pl.Expr:
    """The column `id`, cleaned as by `text_cleaning.clean`, except that only blanks are removed from its ends."""
    return text_cleaning.drop_float_ending(pl.col("id").str.normalize("NFC").str.strip_chars())


def _files_with(identifier: str, iso2: str, files: Sequence[Path]) -> str:
    """The names of the files with an identifier; with a count if a file has it several times."""
    names = []
    for file in files:
        rows = input_files.keep_country(pl.scan_parquet(file).select("iso2", "id"), iso2)
        count = rows.filter(clean_identifier() == identifier).select(pl.len()).collect().item()
        if count:
            names.append(file.name if count == 1 else f"{count} times in {file.name}")
    return ", ".join(sorted(names))
