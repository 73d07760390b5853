"""Sectors: from a published activity code to a sector, a sub-sector and their labels.

The 84 sectors are divisions of NACE Rev. 2, the sub-sectors its groups. A code of Rev. 2.1 keeps
its own label and reaches a sector through the crosswalk. National codes (NAF, UK SIC, five digits)
are NACE to four digits. Nothing is looked up by prefix: a code is in a table or it is unknown. The
outcome of a code is one of four, all counted:

- in a sector;
- outside the sectors on purpose: divisions 84, 97, 98, 99, or a code of `seeds/nace_hors.csv`;
- unknown: the row is kept and reported;
- absent.

From Rev. 2.1 to Rev. 2, the candidates of a class are the classes that share activities with it,
only the whole ones (`partial` 0) if there are any. The place is, in this order: the same code, if it
is a candidate; the group that all candidates share; the division that all share, without a group;
as a guess, which is counted, the place of the candidates in the division of the same number, else of
the first candidate. A group or division of Rev. 2.1 has the candidates of its classes; a class
without candidates has those of its group.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from pipeline.seeds import Row, Seeds

REVISIONS: Final = ("2", "2.1")
DEFAULT_REVISION: Final = "2"  # of a code without `nace_version`
UNKNOWN: Final = "code inconnu"
ABSENT: Final = "aucun code"

# Working columns.
DIVISION: Final = "nace_division"
GROUP: Final = "nace_group"
PUBLISHED: Final = "nace_published"  # the code as published
OUTSIDE: Final = "no_sector"  # the reason for a code without a sector
GUESSED: Final = "nace_guessed"  # whether the sector was guessed
UNKNOWN_FURTHER: Final = "nace_further_unknown"  # the number of `nace_secondaires` left out

_DOTTED: Final = r"^[0-9]{2}(\.[0-9]([0-9][0-9A-Z]?)?)?$"  # 01, 01.1, 01.11, 01.11Z, 01.110
_PLAIN: Final = r"^[0-9]{4}[0-9A-Z]?$"  # 0111, 0111Z, 01110
_LOOKUP: Final = {
    "revision": pl.String,
    "code": pl.String,
    "nace_libelle": pl.String,
    DIVISION: pl.String,
    GROUP: pl.String,
    "secteur": pl.String,
    "grand_secteur": pl.String,
    "sous_secteur": pl.String,
    GUESSED: pl.Boolean,
    OUTSIDE: pl.String,
}

Codes = Mapping[str, Row]


class SectorPlace(NamedTuple):
    """The place of a code in Rev. 2: division, group, and whether it was guessed."""

    division: str
    group: str | None
    guessed: bool = False


def lookup(seeds: Seeds) -> pl.DataFrame:
    """The table of all codes of both revisions, one row per (revision, code).

    Columns: `revision`, `code`, `nace_libelle`, DIVISION, GROUP, `secteur`, `grand_secteur`,
    `sous_secteur`, GUESSED, OUTSIDE.
    """
    sectors = {row["nace_division"]: row for row in seeds.tables["secteurs"]}
    groups = {row["code"]: row["label_fr"] for row in seeds.tables["nace_groups"]}
    places = {"2": _own_places(seeds), "2.1": _crossed_places(seeds)}
    rows = [
        _entry(revision, code, label, places[revision].get(code), sectors, groups)
        for revision in REVISIONS
        for code, label in _labels(seeds, revision).items()
    ]
    return pl.DataFrame(rows, schema=_LOOKUP, orient="row")


def codes_outside_nace(seeds: Seeds, iso2: str) -> pl.DataFrame:
    """The codes outside NACE of the register of `iso2`: `bare_code`, `raison`."""
    rows = [row for row in seeds.tables["nace_hors"] if row["iso2"] == iso2]
    return pl.DataFrame(
        {
            "bare_code": [row["code"].upper() for row in rows],
            "raison": [row["raison"] for row in rows],
        },
        schema={"bare_code": pl.String, "raison": pl.String},
    )


def add_sectors(
    companies: pl.LazyFrame, lookup: pl.DataFrame, outside: pl.DataFrame
) -> pl.LazyFrame:
    """Add the labels and the working columns; write codes as `62.01`, `01.1` or `01`.

    `nace_code` is null for a code that is unknown or outside NACE: every served code is a NACE code.
    Such codes are left out of `nace_secondaires`, which are of the same revision.
    """
    coded = companies.with_columns(
        pl.col("nace_code").alias(PUBLISHED),
        normalise(pl.col("nace_code")).alias("nace_code"),
        pl.col("nace_version").fill_null(DEFAULT_REVISION).alias("revision"),
        _bare_code(pl.col("nace_code")).alias("bare_code"),
    )
    known = lookup.lazy().with_columns(known=True)
    joined = coded.join(
        known, left_on=["revision", "nace_code"], right_on=["revision", "code"], how="left"
    ).join(outside.lazy(), on="bare_code", how="left")
    why = (
        pl.when(pl.col("known"))
        .then(pl.col(OUTSIDE))
        .when(pl.col(PUBLISHED).is_not_null())
        .then(pl.coalesce("raison", pl.lit(UNKNOWN)))
        .otherwise(pl.lit(ABSENT))
    )
    return joined.with_columns(
        why.alias(OUTSIDE),
        pl.when(pl.col("known")).then(pl.col("nace_code")).alias("nace_code"),
        pl.col(GUESSED).fill_null(False),
        *_further_codes(lookup),
    ).drop("known", "raison", "bare_code", "revision", "nace_version")


def _further_codes(lookup: pl.DataFrame) -> tuple[pl.Expr, pl.Expr]:
    """`nace_secondaires` with the codes that the row's `revision` has, and UNKNOWN_FURTHER."""
    code, published = normalise(pl.element()), pl.col("nace_secondaires")
    further = pl.lit(None)
    for revision in REVISIONS:
        known = lookup.filter(revision=revision)["code"].implode()
        kept = published.list.eval(pl.when(code.is_in(known)).then(code)).list.drop_nulls()
        further = pl.when(pl.col("revision") == revision).then(kept).otherwise(further)
    codes = further.list.unique(maintain_order=True)
    missing = (published.list.len() - further.list.len()).fill_null(0)
    return (
        pl.when(codes.list.len() > 0).then(codes).alias("nace_secondaires"),
        missing.cast(pl.Int64).alias(UNKNOWN_FURTHER),
    )


def normalise(published: pl.Expr) -> pl.Expr:
    """A published code in the notation of NACE (`0111Z`: `01.11`); null for any other text."""
    code = published.str.strip_chars().str.to_uppercase()
    digits = code.str.replace_all(r"[^0-9]", "").str.head(4)
    dotted = digits.str.head(2) + "." + digits.str.slice(2)
    written = pl.when(digits.str.len_bytes() == 2).then(digits).otherwise(dotted)
    return pl.when(code.str.contains(_DOTTED) | code.str.contains(_PLAIN)).then(written)


def _bare_code(published: pl.Expr) -> pl.Expr:
    return published.str.strip_chars().str.to_uppercase().str.replace_all(".", "", literal=True)


def _entry(
    revision: str,
    code: str,
    label: str,
    place: SectorPlace | None,
    sectors: Codes,
    groups: Mapping[str, str],
) -> tuple[str | bool | None, ...]:
    sector = sectors.get(place.division) if place else None
    if place is None or sector is None:
        division = place.division if place else code[:2]
        why = f"division {division} hors des secteurs"
        return (revision, code, label, None, None, None, None, None, False, why)
    group = groups[place.group] if place.group else None
    shown = (sector["secteur"], sector["grand_secteur"], group)
    return (revision, code, label, place.division, place.group, *shown, place.guessed, None)


def _tables(seeds: Seeds, revision: str) -> tuple[Sequence[Row], Sequence[Row], Sequence[Row]]:
    suffix = {"2": "", "2.1": "_rev21"}[revision]
    divisions, groups, classes = (
        seeds.tables[f"nace_{level}{suffix}"] for level in ("divisions", "groups", "classes")
    )
    return divisions, groups, classes


def _labels(seeds: Seeds, revision: str) -> dict[str, str]:
    return {row["code"]: row["label_fr"] for rows in _tables(seeds, revision) for row in rows}


def _own_places(seeds: Seeds) -> dict[str, SectorPlace]:
    """The places of Rev. 2: every code in its own division and group."""
    divisions, groups, classes = _tables(seeds, "2")
    return {
        **{row["code"]: SectorPlace(row["code"], None) for row in divisions},
        **{row["code"]: SectorPlace(row["division"], row["code"]) for row in groups},
        **{row["code"]: SectorPlace(row["division"], row["group"]) for row in classes},
    }


def _crossed_places(seeds: Seeds) -> dict[str, SectorPlace]:
    """The places of Rev. 2.1, through the crosswalk."""
    divisions, groups, classes = _tables(seeds, "2.1")
    homes = {
        row["code"]: SectorPlace(row["division"], row["group"]) for row in _tables(seeds, "2")[2]
    }
    whole: dict[str, list[str]] = {}
    every: dict[str, list[str]] = {}
    for row in seeds.tables["nace_crosswalk"]:
        every.setdefault(row["nace_rev21"], []).append(row["nace_rev2"])
        if row["partial"] == "0":
            whole.setdefault(row["nace_rev21"], []).append(row["nace_rev2"])
    candidates = {row["code"]: _preferred_codes(row["code"], whole, every) for row in classes}
    places: dict[str, SectorPlace] = {}
    for row in (*divisions, *groups):
        key = "division" if len(row["code"]) == 2 else "group"
        below = [
            c
            for member in classes
            if member[key] == row["code"]
            for c in candidates[member["code"]]
        ]
        places |= _settle_place(row["code"], below, homes)
    for row in classes:
        known = candidates[row["code"]]
        found = _settle_place(row["code"], known, homes)
        places |= found or {row["code"]: places[row["group"]]}
    return places


def _preferred_codes(
    code: str, whole: Mapping[str, list[str]], every: Mapping[str, list[str]]
) -> list[str]:
    candidates = whole.get(code) or every.get(code, [])
    return [code] if code in candidates else sorted(candidates)


def _settle_place(
    code: str, candidates: Sequence[str], homes: Mapping[str, SectorPlace]
) -> dict[str, SectorPlace]:
    """The place of `code`; empty without candidates."""
    found = [homes[candidate] for candidate in candidates]
    if not found:
        return {}
    near = [place for place in found if place.division == code[:2]]
    place = _common_group(found) or (_common_group(near) or found[0])._replace(guessed=True)
    return {code: place if len(code) > 2 else place._replace(group=None)}


def _common_group(places: Sequence[SectorPlace]) -> SectorPlace | None:
    """The group that all of `places` share, else the division, else None."""
    if len({place.division for place in places}) != 1:
        return None
    shared = len({place.group for place in places}) == 1
    return places[0] if shared else places[0]._replace(group=None)
