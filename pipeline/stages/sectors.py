"""Sectors: from a published activity code to a sector, a sub-sector and their labels.

The 84 sectors are divisions of NACE Rev. 2; the sub-sectors are its groups. A code of Rev. 2.1 keeps
its own label, and has a sector through the crosswalk. National codes (NAF, UK SIC, five digits)
are NACE codes in their first four digits. Nothing is looked up by prefix: a code that is not in a table is unknown. The
code of a company is in one of four cases, which are counted:

- in a sector;
- outside the sectors on purpose: divisions 84, 97, 98, 99, or a code of `seeds/nace_hors.csv`;
- unknown: the row is kept, and the code is reported;
- absent: the register publishes no code.

The place of a code is its division and group in Rev. 2. For a class of Rev. 2.1, the candidates are the classes of
Rev. 2 that share activities with it; if some match completely (`partial` 0), only these. The first rule that applies
gives the place:

1. The same code is a candidate: the place of this candidate.
2. All candidates are in one group: this group.
3. All candidates are in one division: this division, without a group.
4. The candidates in the division of the same number are in one group: this group; otherwise this division.
5. The place of the first candidate.

Rules 4 and 5 are guesses, which are counted. A group or division of Rev. 2.1 has the candidates of its classes; a class
without candidates has the place of its group.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from pipeline.seeds import Seeds, TableRow

REVISIONS: Final = ("2", "2.1")
DEFAULT_REVISION: Final = "2"  # of a code without `nace_version`
# The reasons for a company without a sector: its code is unknown, or the register publishes no code.
UNKNOWN: Final = "code inconnu"
ABSENT: Final = "aucun code"

# Working columns: they pass values to later stages and are not served.
DIVISION: Final = "nace_division"  # the division of Rev. 2 of the sector
GROUP: Final = "nace_group"  # the group of Rev. 2 of the sub-sector
PUBLISHED: Final = "nace_published"  # the code as published
OUTSIDE: Final = "no_sector"  # the reason why the company has no sector; null if it has one
GUESSED: Final = "nace_guessed"  # whether the sector was guessed
# The number of codes left out of `nace_secondaires`.
UNKNOWN_SECONDARY: Final = "nace_further_unknown"

# The forms of a published code, in capitals: with a dot, or a class without a dot.
_WITH_DOT: Final = r"^[0-9]{2}(\.[0-9]([0-9][0-9A-Z]?)?)?$"  # 01, 01.1, 01.11, 01.11Z, 01.110
_WITHOUT_DOT: Final = r"^[0-9]{4}[0-9A-Z]?$"  # 0111, 0111Z, 01110
# The columns of `lookup`.
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

Codes = Mapping[str, TableRow]  # rows of a table by code


class SectorPlace(NamedTuple):
    """The place of a code in Rev. 2: division, group (None if it is unknown), and whether the place is a guess."""

    division: str
    group: str | None
    guessed: bool = False


def lookup(seeds: Seeds) -> pl.DataFrame:
    """The table of all codes of Rev. 2 and Rev. 2.1, one row per (revision, code).

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
    """The codes that the register of `iso2` uses outside NACE: `bare_code` (without dots), `raison` (the reason)."""
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
    """Add the sectors, labels and working columns; write codes as `62.01`, `01.1` or `01`.

    `nace_code` is null for a code that is unknown or outside NACE: every served code is a NACE code.
    Such codes are also left out of `nace_secondaires`, whose codes have the revision of `nace_code`.

    Args:
        lookup: the result of the function `lookup`.
        outside: the result of `codes_outside_nace`.
    """
    coded = companies.with_columns(
        pl.col("nace_code").alias(PUBLISHED),
        normalise(pl.col("nace_code")).alias("nace_code"),
        pl.col("nace_version").fill_null(DEFAULT_REVISION).alias("revision"),
        _bare_code(pl.col("nace_code")).alias("bare_code"),
    )
    codes = lookup.lazy().with_columns(known=True)
    joined = coded.join(
        codes, left_on=["revision", "nace_code"], right_on=["revision", "code"], how="left"
    ).join(outside.lazy(), on="bare_code", how="left")
    reason = (
        pl.when(pl.col("known"))
        .then(pl.col(OUTSIDE))
        .when(pl.col(PUBLISHED).is_not_null())
        .then(pl.coalesce("raison", pl.lit(UNKNOWN)))
        .otherwise(pl.lit(ABSENT))
    )
    return joined.with_columns(
        reason.alias(OUTSIDE),
        pl.when(pl.col("known")).then(pl.col("nace_code")).alias("nace_code"),
        pl.col(GUESSED).fill_null(False),
        *_secondary_codes(lookup),
    ).drop("known", "raison", "bare_code", "revision", "nace_version")


def _secondary_codes(lookup: pl.DataFrame) -> tuple[pl.Expr, pl.Expr]:
    """`nace_secondaires` with only the codes of the row's `revision`, each once; and the number of codes left out."""
    code, published = normalise(pl.element()), pl.col("nace_secondaires")
    codes_of_row = pl.lit(None)
    for revision in REVISIONS:
        valid = lookup.filter(revision=revision)["code"].implode()
        valid_codes = published.list.eval(pl.when(code.is_in(valid)).then(code)).list.drop_nulls()
        codes_of_row = (
            pl.when(pl.col("revision") == revision).then(valid_codes).otherwise(codes_of_row)
        )
    codes = codes_of_row.list.unique(maintain_order=True)
    left_out = (published.list.len() - codes_of_row.list.len()).fill_null(0)
    return (
        pl.when(codes.list.len() > 0).then(codes).alias("nace_secondaires"),
        left_out.cast(pl.Int64).alias(UNKNOWN_SECONDARY),
    )


def normalise(published: pl.Expr) -> pl.Expr:
    """A published code in the notation of NACE (`01.11` for `0111Z`); null for any other text."""
    code = published.str.strip_chars().str.to_uppercase()
    digits = code.str.replace_all(r"[^0-9]", "").str.head(4)
    dotted = digits.str.head(2) + "." + digits.str.slice(2)
    notation = pl.when(digits.str.len_bytes() == 2).then(digits).otherwise(dotted)
    return pl.when(code.str.contains(_WITH_DOT) | code.str.contains(_WITHOUT_DOT)).then(notation)


def _bare_code(published: pl.Expr) -> pl.Expr:
    """A published code in capitals, without dots, as in `seeds/nace_hors.csv`."""
    return published.str.strip_chars().str.to_uppercase().str.replace_all(".", "", literal=True)


def _entry(
    revision: str,
    code: str,
    label: str,
    place: SectorPlace | None,
    sectors: Codes,
    groups: Mapping[str, str],
) -> tuple[str | bool | None, ...]:
    """The row of a code in the table of `lookup`, in the order of _LOOKUP; `place` None means outside the sectors."""
    sector = sectors.get(place.division) if place else None
    if place is None or sector is None:
        division = place.division if place else code[:2]
        reason = f"division {division} hors des secteurs"
        return (revision, code, label, None, None, None, None, None, False, reason)
    group = groups[place.group] if place.group else None
    labels = (sector["secteur"], sector["grand_secteur"], group)
    return (revision, code, label, place.division, place.group, *labels, place.guessed, None)


def _tables(
    seeds: Seeds, revision: str
) -> tuple[Sequence[TableRow], Sequence[TableRow], Sequence[TableRow]]:
    """The divisions, groups and classes of a revision."""
    suffix = {"2": "", "2.1": "_rev21"}[revision]
    divisions, groups, classes = (
        seeds.tables[f"nace_{level}{suffix}"] for level in ("divisions", "groups", "classes")
    )
    return divisions, groups, classes


def _labels(seeds: Seeds, revision: str) -> dict[str, str]:
    """The French label of each code of a revision."""
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
    """By code of NACE Rev. 2.1: the division and group of Rev. 2 where it belongs, from the table of correspondence."""
    divisions, groups, classes = _tables(seeds, "2.1")
    own_places = {
        row["code"]: SectorPlace(row["division"], row["group"]) for row in _tables(seeds, "2")[2]
    }
    complete_matches: dict[str, list[str]] = {}
    all_matches: dict[str, list[str]] = {}
    for row in seeds.tables["nace_crosswalk"]:
        all_matches.setdefault(row["nace_rev21"], []).append(row["nace_rev2"])
        if row["partial"] == "0":
            complete_matches.setdefault(row["nace_rev21"], []).append(row["nace_rev2"])
    candidates = {
        row["code"]: _preferred_codes(row["code"], complete_matches, all_matches) for row in classes
    }
    places: dict[str, SectorPlace] = {}
    # Divisions and groups have the candidates of their classes; a class without candidates has the place of its group.
    for row in (*divisions, *groups):
        level = "division" if len(row["code"]) == 2 else "group"
        member_candidates = [
            candidate
            for member in classes
            if member[level] == row["code"]
            for candidate in candidates[member["code"]]
        ]
        places |= _choose_place(row["code"], member_candidates, own_places)
    for row in classes:
        class_candidates = candidates[row["code"]]
        class_place = _choose_place(row["code"], class_candidates, own_places)
        places |= class_place or {row["code"]: places[row["group"]]}
    return places


def _preferred_codes(
    code: str, complete_matches: Mapping[str, list[str]], all_matches: Mapping[str, list[str]]
) -> list[str]:
    """The candidates of a class: `code` alone if it is a candidate, complete matches if there are any, else all."""
    candidates = complete_matches.get(code) or all_matches.get(code, [])
    return [code] if code in candidates else sorted(candidates)


def _choose_place(
    code: str, candidates: Sequence[str], own_places: Mapping[str, SectorPlace]
) -> dict[str, SectorPlace]:
    """The place of `code` by its candidates, as a dictionary with one entry; empty without candidates.

    Args:
        own_places: the place of each class of Rev. 2.
    """
    places = [own_places[candidate] for candidate in candidates]
    if not places:
        return {}
    places_in_division = [place for place in places if place.division == code[:2]]
    # The numbers are those of the rules in the opening of this file. Rule 1 may have left a single candidate; rules 2
    # and 3 take the group or division that all candidates share; rules 4 and 5 guess.
    place = _common_group(places) or (_common_group(places_in_division) or places[0])._replace(
        guessed=True
    )
    return {code: place if len(code) > 2 else place._replace(group=None)}


def _common_group(places: Sequence[SectorPlace]) -> SectorPlace | None:
    """The place with the group that `places` share, else with the shared division, else None."""
    if len({place.division for place in places}) != 1:
        return None
    shared = len({place.group for place in places}) == 1
    return places[0] if shared else places[0]._replace(group=None)
