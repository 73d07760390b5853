"""Small sets of companies as dicts, and real shards and generations of them.

The text strategies draw names as registers publish them, and texts that break programs: accents in both Unicode
forms, ligatures, fullwidth letters, Greek, Cyrillic, Hebrew, emoji, names that fold to nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from hypothesis import strategies as st

from shards import format
from shards.analyses import market
from shards.changes import comparison
from shards.codec import codes, record, sort_keys, strings
from shards.codec.codes import DistinctValues
from shards.generations import generation_files, publication
from shards.generations import reference as references
from shards.generations.reference import CellCount, Pays, Reference, Secteur, SousSecteur
from shards.query import STATES
from shards.ratios import accounts
from shards.ratios.accounts import LastYearRatios
from shards.ratios.ratio_table import stored_codes
from shards.writing import writer
from shards.writing.name_index import FormerNames
from shards.writing.writer import Columns

Company = dict[str, Any]

COUNTRIES: Final = ("EE", "FR", "UK")
GROUPS: Final = {"62": ("62.0",), "47": ("47.1", "47.2"), "01": ("01.1",)}
# One label under two sectors (contract B10).
LABELS: Final = {"62.0": "Informatique", "47.1": "Détail", "47.2": "Divers", "01.1": "Divers"}

# The columns of codes, with their fields.
CODED: Final = {name: name for name in ("forme", "ville", "code_postal")} | {"nace": "nace_code"}

# Words of names, in spellings that fold alike and characters that break programs.
PIECES: Final = (
    "Orléans", "orle\u0301ans", "Société", "SOCIETE", "Générale", "Straße", "STRASSE", "Œuvre",
    "oeuvre", "Ærø", "Łódź", "Żabka", "Đuro", "Þór", "ＡＢＣ", "abc", "Ψυχή", "ψυχη", "Ёлка",
    "елка", "חברה", "🚀", "fit", "lab", "Fitlab", "a", "b", "ab", "&", "-", "'",
    "\"", "(UK)", "Oü", "OÜ",
    "n°1", "½", "②", "3M", "0", "00", "99",
)  # fmt: skip

FORMS: Final = ("OÜ", "oü", "Société anonyme", "SA", "S.A.", "Ltd")
TOWNS: Final = (
    "Orléans", "ORLEANS", "Saint-Étienne", "St. Étienne", "Ærøskøbing", "Łódź", "łodz", "Żabka",
    "’s-Gravenhage", "s Gravenhage", "Ψυχή", "L'Haÿ-les-Roses", "-", "½", "Orléans 2",
)  # fmt: skip
POSTCODES: Final = (
    "ec1a 1bb",
    "EC1A1BB",
    "EC1",
    "75001",
    "75 002",
    "7",
    "-",
    "LV-1050",
    "Ⅷ 1",
    "ß1",
)
# Codes of INSEE, bands of other registers, and texts that are not a band or are in no band of X3.
BANDS: Final = (
    "00", "01", "03", "11", "12", "21", "31", "32", "53", "0", "1-5", "200-249", "10000+", "5-12", "7+", "9-1",
    "NN", "-",
)  # fmt: skip
ACTIVITIES: Final = ("62", "62.0", "62.01", "62.02", "62.09", "47.11", "47.1", "84.11", "01.1")

names = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map(" ".join) | st.text(
    st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12
)
identifiers = st.text("0123456789ABz-. /é", min_size=1, max_size=6)
amounts = st.none() | st.sampled_from([0.0, 0.5, -1.0, 1e6, 1e6, 3.25]) | st.floats(-1e9, 1e9)
assets = (
    st.none()
    | st.sampled_from([0.0, 1.1, 0.29, -1.5, 4e7, 39_999_999.99, 5e9])
    | st.integers(-(10**12), 10**12).map(lambda cents: cents / 100)
)
dates = st.none() | st.sampled_from(
    ["2024-02-29", "2024-02", "2024", "1999-12-31", "0001-01-01", "2024-01-01", "2024-02-01"]
)


def lei(number: int) -> str:
    """An invented LEI with its check digits (ISO 17442: mod 97-10, ISO 7064); it ascends with the number."""
    return f"{number:018}{98 - number * 100 % 97:02}"


@st.composite
def companies(draw: st.DrawFn, max_size: int = 25) -> list[Company]:
    """Companies of a few countries with unique (iso2, id); values repeat, so ties are common."""
    keys = st.tuples(st.sampled_from(COUNTRIES), identifiers)
    result = []
    for iso2, identifier in sorted(draw(st.sets(keys, max_size=max_size))):
        division = draw(st.sampled_from([None, *GROUPS]))
        groups = (None, *GROUPS[division]) if division else (None,)
        result.append(
            company(
                iso2,
                identifier,
                draw(names),
                division=division,
                groupe=draw(st.sampled_from(groups)),
                ca_eur=draw(amounts),
                capital_eur=draw(amounts),
                effectif=draw(
                    st.none() | st.integers(-1, 5) | st.sampled_from([9, 10, 999, 2**31 - 1])
                ),
                tranche_effectif=draw(st.none() | st.sampled_from(BANDS)),
                date_creation=draw(dates),
                score=draw(st.integers(0, 3)),
                site_web=draw(st.none() | st.just("https://exemple.ee")),
                etat=draw(st.sampled_from(["active", "procedure", "cessee", "inconnu"])),
                forme=draw(st.none() | st.sampled_from(FORMS)),
                ville=draw(st.none() | st.sampled_from(TOWNS)),
                code_postal=draw(st.none() | st.sampled_from(POSTCODES)),
                nace_code=draw(st.none() | st.sampled_from(ACTIVITIES)),
                **total_assets(draw(assets)),
                a_comptes=draw(st.booleans()),
                noms_anterieurs=draw(st.none() | st.lists(names, min_size=1, max_size=2)),
            )
        )
    return result


def total_assets(euros: float | None) -> Company:
    """Total assets that are published in euros."""
    return {"actif_eur": euros, "total_actif_last": euros, "devise": "EUR", "exercice_actif": 2025}


def company(iso2: str, identifier: str, nom: str, **fields: Any) -> Company:
    """A company with all fields of §2.1 and the internal fields of `tests.oracle`; most fields default to null."""
    nulls = dict.fromkeys((*record.FIELDS, "division", "groupe", "capital_eur", "actif_eur"))
    return {
        **nulls,
        "a_comptes": False,
        "score": 0,
        "etat": "inconnu",
        "iso2": iso2,
        "id": identifier,
        "nom": nom,
        **fields,
    }


def sort_by_layout(dataset: Sequence[Company]) -> list[Company]:
    """Companies of one country in layout order."""

    def null_last(value: Any) -> tuple[bool, Any]:
        """A sort key with nulls at the end."""
        return (value is None, value or "")

    return sorted(
        dataset,
        key=lambda c: (
            *null_last(c["division"]),
            *null_last(c["groupe"]),
            c["ca_eur"] is None,
            -(c["ca_eur"] or 0.0),
            c["id"].encode(),
        ),
    )


def write_shard(
    path: Path,
    iso2: str,
    dataset: Sequence[Company],
    comptes: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    ratios: LastYearRatios | None = None,
) -> list[Company]:
    """Write the shard of `iso2`; return its companies in layout order.

    Args:
        comptes: statement lines by identifier.
        ratios: the ratios to write instead of the ratios of the statements.
    """
    rows = sort_by_layout([company for company in dataset if company["iso2"] == iso2])
    lines = {c["id"]: [] for c in rows if c["a_comptes"]} | dict(comptes or {})

    def records(numbers: range) -> Iterator[bytes]:
        """The records of the rows with these numbers."""
        return (record.encode(rows[row]) for row in numbers)

    writer.write(
        path,
        iso2,
        columns(rows),
        records,
        [(i, orjson.dumps(lines[c["id"]])) for i, c in enumerate(rows) if c["id"] in lines],
        ratios=ratios or last_year_ratios([lines[c["id"]] for c in rows if c["id"] in lines]),
    )
    return rows


def last_year_ratios(statements: Sequence[Sequence[Mapping[str, Any]]]) -> LastYearRatios:
    """The ratios of companies with these statement lines, one after the other."""
    last_years = [accounts.last_year(lines) for lines in statements]
    arrays: dict[str, Any] = {
        code: np.array([values[code] for _, values in last_years], dtype=float)
        for code in stored_codes()
    }
    return LastYearRatios({"exercice": np.array([y for y, _ in last_years], np.uint16), **arrays})


def columns(rows: Sequence[Company]) -> Columns:
    """The columns from which the writer of shards writes these companies, which must be in layout order."""

    def amount(field: str) -> Any:
        """An amount of each row; NaN if it is unknown."""
        return np.array([np.nan if c[field] is None else c[field] for c in rows], dtype=float)

    headcounts = [format.EFFECTIF_NULL if c["effectif"] is None else c["effectif"] for c in rows]
    places = groupby(rows, key=lambda c: (c["division"], c["groupe"]))
    return Columns(
        ids=strings.pack(c["id"] for c in rows),
        noms=strings.pack(c["nom"] for c in rows),
        former=former_names([c["noms_anterieurs"] for c in rows]),
        cells=[(*place, len(list(rows_of_cell))) for place, rows_of_cell in places],
        ca_eur=amount("ca_eur"),
        effectif=np.array(headcounts, dtype=np.int32),
        dates=np.array([sort_keys.date_key(c["date_creation"]) for c in rows], dtype=np.int32),
        capital_eur=amount("capital_eur"),
        score=np.array([c["score"] for c in rows], dtype=np.int16),
        site_web=np.array([c["site_web"] is not None for c in rows], dtype=bool),
        etat=np.array([STATES.index(c["etat"] or "inconnu") for c in rows], dtype=np.uint8),
        texts={name: distinct([c[field] for c in rows]) for name, field in CODED.items()},
        actif_eur=amount("actif_eur"),
        tranche=distinct([c["tranche_effectif"] for c in rows]),
        numbers=[
            (row, c[field])
            for row, c in enumerate(rows)
            for field in codes.ALIASES
            if c[field] is not None
        ],
    )


def former_names(lists: Sequence[Sequence[str] | None]) -> FormerNames:
    """The former names of rows, as the writer takes them: all names, and for each name its row."""
    owners = [row for row, names in enumerate(lists) for _ in names or ()]
    texts = strings.pack(name for names in lists for name in names or ())
    return FormerNames(texts, np.array(owners, dtype=np.uint32))


def distinct(values: Sequence[str | None]) -> DistinctValues:
    """A text column as the writer takes it: the distinct texts, and for each row the position of its text."""
    listed = list(dict.fromkeys(values))
    return DistinctValues(listed, np.array([listed.index(value) for value in values], np.uint32))


def reference(dataset: Sequence[Company], countries: Sequence[str] = COUNTRIES) -> Reference:
    """The reference lists of these companies."""
    return Reference(
        pays=tuple(Pays(c, c.lower(), f"Pays {c}", f"Land {c}", "EUR", "R") for c in countries),
        secteurs=tuple(
            Secteur(code, f"Secteur {code}", f"Sector {code}", f"secteur-{code}", "Grand")
            for code in sorted(GROUPS)
        ),
        sous_secteurs=tuple(
            SousSecteur(group, division, LABELS[group])
            for division, groups in sorted(GROUPS.items())
            for group in groups
        ),
        counts={
            iso2: _cell_counts([c for c in dataset if c["iso2"] == iso2]) for iso2 in countries
        },
    )


# A statement line: only records with statement lines cost credits (X0.6).
STATEMENT_LINE: Final = {
    "etat": "bilan_actif", "code": "total_actif", "libelle": "Total de l'actif", "valeur": 1.0,
    "devise": "EUR", "exercice": 2024, "ordre": 1,
}  # fmt: skip


def publish(data: Path, dataset: Sequence[Company], *, filed: bool = False, **options: Any) -> str:
    """Publish a generation of these companies in the folder `data`; return its name.

    Args:
        filed: whether each company has a statement line.
    """
    staged = publication.make_staging_folder(data)
    for iso2 in COUNTRIES:
        comptes = {
            company["id"]: [STATEMENT_LINE]
            for company in dataset
            if filed and company["iso2"] == iso2
        }
        write_shard(staged / generation_files.shard_name(iso2), iso2, dataset, comptes)
    (staged / generation_files.REFERENCE).write_bytes(references.dump(reference(dataset)))
    (staged / generation_files.QUALITY).write_bytes(b"{}")
    return publication.publish(
        data,
        staged,
        sources=(),
        compare=comparison.compare_all,
        derive=market.files,
        **options,
    )


def _cell_counts(dataset: Sequence[Company]) -> tuple[CellCount, ...]:
    """The number of companies of each sector and sub-sector."""
    places = [(c["division"], c["groupe"]) for c in dataset]
    return tuple(
        CellCount(*place, places.count(place))
        for place in sorted(set(places), key=lambda p: [str(code) for code in p])
    )
