"""Estonia: e-Äriregister (RIK), basic data of every entity and its declared main activity.

The source has two files: `lihtandmed` (17 columns, required) and `emtak` (activity by register
code, optional). The header tells which is which, because people rename downloads. EMTAK 2008 is
NACE Rev. 2 to four digits. Sole traders (FIE) are natural persons: they are dropped and counted
(GDPR).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.canonical import InputError
from pipeline.registers import entity, source_file
from pipeline.registers.register import Register, RegisterRows
from pipeline.registers.source_file import FilePart

SOLE_TRADER: Final = "Füüsilisest isikust ettevõtja"

LIHTANDMED: Final = source_file.FileLayout(
    name="lihtandmed",
    separator=";",
    used=frozenset(
        {
            "nimi",
            "ariregistri_kood",
            "ettevotja_oiguslik_vorm",
            "ettevotja_staatus",
            "ettevotja_staatus_tekstina",
            "ettevotja_esmakande_kpv",
            "asukoht_ettevotja_aadressis",
            "asukoha_ehak_tekstina",
            "indeks_ettevotja_aadressis",
            "teabesysteemi_link",
        }
    ),
    ignored={
        "ettevotja_oigusliku_vormi_alaliik": "a detail of the legal form, nearly always empty",
        "kmkr_nr": "the VAT number; no field for it",
        "ettevotja_aadress": "the address before 2006, always empty now",
        "asukoha_ehak_kood": "the code of asukoha_ehak_tekstina, which is used",
        "ads_adr_id": "a key of the address system",
        "ads_ads_oid": "a key of the address system",
        "ads_normaliseeritud_taisaadress": "repeats street, town and county in one text",
    },
)

EMTAK: Final = source_file.FileLayout(
    name="emtak",
    separator=";",
    used=frozenset({"ariregistri_kood", "emtak_kood"}),
    ignored={"klassifikaator": "the institutional sector (S11002 …), not the activity"},
)

# «Haabersti linnaosa, Tallinn, Harju maakond»: from the smallest place to the county. A `linnaosa`
# is a district of a town, not the town.
PLACES: Final = pl.col("asukoha_ehak_tekstina").str.split(", ")
TOWN: Final = PLACES.list.eval(
    pl.element().filter(~pl.element().str.ends_with(" linnaosa"))
).list.first()
COUNTY: Final = pl.when(PLACES.list.len() > 1).then(PLACES.list.last())

CODE: Final = pl.col("emtak_kood")
IS_CLASS: Final = CODE.str.contains(r"^\d{4,5}$")
PERSON: Final = pl.col("ettevotja_oiguslik_vorm") == SOLE_TRADER

ENTITY: Final = entity.Entity(
    columns={
        "iso2": pl.lit("EE"),
        "id": pl.col("ariregistri_kood"),
        "nom": pl.col("nimi"),
        "forme": pl.col("ettevotja_oiguslik_vorm"),
        "statut": pl.coalesce("ettevotja_staatus_tekstina", "ettevotja_staatus"),
        "ville": TOWN,
        "code_postal": pl.col("indeks_ettevotja_aadressis"),
        "region": COUNTY,
        "adresse": pl.col("asukoht_ettevotja_aadressis"),
        "date_creation": entity.iso_date(pl.col("ettevotja_esmakande_kpv"), "%d.%m.%Y"),
        "nace_code": pl.when(IS_CLASS).then(CODE.str.slice(0, 4)),
        "nace_version": pl.when(IS_CLASS).then(pl.lit("2")),
        "url_registre": pl.col("teabesysteemi_link"),
    },
    published_date=pl.col("ettevotja_esmakande_kpv"),
    drop_reason=pl.when(PERSON).then(pl.lit("personne physique")),
    note=pl.when(CODE.is_null())
    .then(pl.lit("EMTAK absent"))
    .when(~IS_CLASS)
    .then(pl.lit("EMTAK illisible")),
    note_value=CODE,
)


def read(files: Sequence[Path], work: Path) -> RegisterRows:
    """Read the lihtandmed files and, where given, the EMTAK file.

    Raises:
        InputError: no lihtandmed file, or a file with another header.
    """
    parts = source_file.unpack(files, work)
    basic = [part for part in parts if _layout(part) is LIHTANDMED]
    activities = [part for part in parts if _layout(part) is EMTAK]
    if not basic:
        raise InputError(
            "no lihtandmed file among those given; it is the one with the names: add it"
        )
    codes = _activities(activities)
    rows = [
        (
            part,
            source_file.scan(part, LIHTANDMED).join(
                codes, on="ariregistri_kood", how="left", maintain_order="left"
            ),
        )
        for part in basic
    ]
    staged = entity.stage_rows(rows, ENTITY, work)
    return entity.register_rows(staged, basic, detail=_count_orphans(codes, staged))


def _layout(part: FilePart) -> source_file.FileLayout:
    if "emtak_kood" in part.header:
        return EMTAK
    if "nimi" in part.header:
        return LIHTANDMED
    raise InputError(
        f"{part.name}: neither lihtandmed (column nimi) nor emtak (column emtak_kood);"
        f" its columns are {', '.join(part.header)}"
    )


def _activities(parts: Sequence[FilePart]) -> pl.LazyFrame:
    """One activity code per company, the first found; an empty frame without a file."""
    none = pl.LazyFrame(schema={"ariregistri_kood": pl.String(), "emtak_kood": pl.String()})
    frames = [source_file.scan(part, EMTAK).drop("ligne") for part in parts]
    return pl.concat([none, *frames]).unique("ariregistri_kood", keep="first", maintain_order=True)


def _count_orphans(codes: pl.LazyFrame, staged: pl.LazyFrame) -> dict[str, int]:
    """Count the activity codes whose company is not in the lihtandmed files."""
    alone = codes.join(staged, left_on="ariregistri_kood", right_on="id", how="anti")
    n = int(alone.select(pl.len()).collect(engine="streaming").item())
    return {"codes EMTAK sans société": n} if n else {}


REGISTER: Final = Register(source="ee", table="companies", read=read)
