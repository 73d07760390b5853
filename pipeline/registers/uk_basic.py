"""United Kingdom: Companies House, "Free Company Data Product" (BasicCompanyData), 55 columns.

Two traps:

- SIC codes of four digits are UK SIC 2003, never renewed by the company. They are not NACE Rev. 2,
  although many look like one of its classes (4521, 7220), so they give no `nace_code`.
- 98000, 99999 and 74990 have five digits but no place in NACE. They are passed on as published; the
  build finds them in `seeds/nace_hors.csv`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.registers import entity, source_file
from pipeline.registers.register import Register, RegisterRows

PREVIOUS_NAMES: Final = [
    f"PreviousName_{n}.{part}" for n in range(1, 11) for part in ("CONDATE", "CompanyName")
]

LAYOUT: Final = source_file.FileLayout(
    name="BasicCompanyData",
    separator=",",
    used=frozenset(
        {
            "CompanyName",
            "CompanyNumber",
            "RegAddress.AddressLine1",
            "RegAddress.AddressLine2",
            "RegAddress.PostTown",
            "RegAddress.County",
            "RegAddress.PostCode",
            "CompanyCategory",
            "CompanyStatus",
            "IncorporationDate",
            "SICCode.SicText_1",
        }
    ),
    ignored={
        "RegAddress.CareOf": "the name of a person, often",
        "RegAddress.POBox": "a letter box is not where the company is",
        "RegAddress.Country": "a constituent country; ville and region say more",
        "CountryOfOrigin": "no field for it; the register is the UK's",
        "DissolutionDate": "empty: dissolved companies leave the product; statut says the rest",
        "Accounts.AccountRefDay": "filing calendar",
        "Accounts.AccountRefMonth": "filing calendar",
        "Accounts.NextDueDate": "filing calendar",
        "Accounts.LastMadeUpDate": "filing calendar; the accounts themselves are read",
        "Accounts.AccountCategory": "filing calendar",
        "Returns.NextDueDate": "filing calendar",
        "Returns.LastMadeUpDate": "filing calendar",
        "ConfStmtNextDueDate": "filing calendar",
        "ConfStmtLastMadeUpDate": "filing calendar",
        "Mortgages.NumMortCharges": "no field for charges",
        "Mortgages.NumMortOutstanding": "no field for charges",
        "Mortgages.NumMortPartSatisfied": "no field for charges",
        "Mortgages.NumMortSatisfied": "no field for charges",
        "SICCode.SicText_2": "a company has one main activity here, the first",
        "SICCode.SicText_3": "a company has one main activity here, the first",
        "SICCode.SicText_4": "a company has one main activity here, the first",
        "LimitedPartnerships.NumGenPartners": "no field for partners",
        "LimitedPartnerships.NumLimPartners": "no field for partners",
        "URI": "a dead address; url_registre is made from seeds/pays.csv",
        **dict.fromkeys(PREVIOUS_NAMES, "a company is found by its present name"),
    },
)

SIC: Final = pl.col("SICCode.SicText_1")
CODE: Final = SIC.str.extract(r"^(\d+) - ")
# A code is UK SIC 2007 (NACE Rev. 2 to four digits) if it has five digits, and only then.
IS_SIC_2007: Final = CODE.str.len_chars() == 5

NOTE: Final = (
    pl.when(SIC.is_null())
    .then(pl.lit("SIC absent"))
    .when(SIC == "None Supplied")
    .then(pl.lit("SIC None Supplied"))
    .when(CODE.str.len_chars() == 4)
    .then(pl.lit("SIC 2003"))
    .when(~IS_SIC_2007.fill_null(False))
    .then(pl.lit("SIC illisible"))
)

ENTITY: Final = entity.Entity(
    columns={
        "iso2": pl.lit("UK"),
        "id": pl.col("CompanyNumber"),
        "nom": pl.col("CompanyName"),
        "forme": pl.col("CompanyCategory"),
        "statut": pl.col("CompanyStatus"),
        "activite": SIC.str.extract(r"^\d+ - (.+)$"),
        "ville": pl.col("RegAddress.PostTown"),
        "code_postal": pl.col("RegAddress.PostCode"),
        "region": pl.col("RegAddress.County"),
        "adresse": entity.joined_text(
            [pl.col("RegAddress.AddressLine1"), pl.col("RegAddress.AddressLine2")]
        ),
        "date_creation": entity.iso_date(pl.col("IncorporationDate"), "%d/%m/%Y"),
        "nace_code": pl.when(IS_SIC_2007).then(CODE),
        "nace_version": pl.when(IS_SIC_2007).then(pl.lit("2")),
    },
    published_date=pl.col("IncorporationDate"),
    drop_reason=pl.lit(None),
    note=NOTE,
    note_value=SIC,
)


def read(files: Sequence[Path], work: Path) -> RegisterRows:
    """Read the BasicCompanyData files; the product is published in parts.

    Raises:
        InputError: a file with another header, or no readable CSV.
    """
    parts = source_file.unpack(files, work)
    staged = entity.stage_rows(
        [(part, source_file.scan(part, LAYOUT)) for part in parts], ENTITY, work
    )
    return entity.register_rows(staged, parts)


REGISTER: Final = Register(source="uk-basic", table="companies", read=read)
