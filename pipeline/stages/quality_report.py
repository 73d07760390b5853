"""The quality report: what became of every row and line, and how much is known, country by country.

It is part of the generation (`quality.json`) and printed when a build ends. It holds counts and a
few examples, no time and no path, so that the same input gives the same report.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

import orjson
import polars as pl

from pipeline.errors import BuildError
from pipeline.stages import money, sectors, statement_lines, text_cleaning

SHARES: Final = ("secteur", "ca_eur", "effectif", "total_actif_last", "comptes", "contacts")
_EXAMPLES: Final = 20  # unknown codes that are named
_CONTACTS: Final = ("site_web", "email", "telephone")

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Quality:
    """One country. Rows: `lues` = `gardees` + every value of `rejetees`.

    Lines: `lignes_lues` = `lignes_gardees` + every value of `lignes_ecartees`.
    """

    lues: int = 0
    gardees: int = 0
    rejetees: Counts = field(default_factory=dict)
    renseignees: Counts = field(default_factory=dict)  # rows that have each of SHARES
    sans_secteur: Counts = field(default_factory=dict)  # by reason
    codes_inconnus: Counts = field(default_factory=dict)  # the commonest
    secteurs_devines: int = 0  # the first of several candidates (Rev. 2.1)
    sans_conversion: Counts = field(default_factory=dict)  # by reason
    textes_coupes: int = 0
    lignes_lues: int = 0
    lignes_gardees: int = 0
    lignes_ecartees: Counts = field(default_factory=dict)  # by reason
    lignes_contradictoires: int = 0
    hors_format: int = 0
    cles_verifiees: int = 0
    cles_fausses: int = 0


def of_frame(frame: pl.DataFrame) -> Quality:
    """What some finished rows of a country tell; `total` adds several of these up."""
    unknown = frame.filter(pl.col(sectors.OUTSIDE) == sectors.UNKNOWN)
    contacts = pl.any_horizontal(pl.col(name).is_not_null() for name in _CONTACTS)
    known = frame.select(
        *(pl.col(name).is_not_null().sum() for name in SHARES[:-2]),
        comptes=pl.col(statement_lines.PRESENT).sum(),
        contacts=contacts.sum(),
    )
    return Quality(
        gardees=frame.height,
        renseignees=known.row(0, named=True),
        sans_secteur=tally(frame, sectors.OUTSIDE),
        codes_inconnus=tally(unknown, sectors.PUBLISHED),
        secteurs_devines=int(frame[sectors.GUESSED].sum()),
        sans_conversion=tally(frame, money.UNCONVERTED),
        textes_coupes=int(frame[text_cleaning.CUT].sum()),
    )


def most_common(counts: Counts) -> Counts:
    """The highest counts, of which a report gives examples."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_EXAMPLES])


def tally(frame: pl.DataFrame, column: str) -> dict[str, int]:
    """How often each value of `column` occurs, by value, without the null."""
    found = frame.filter(pl.col(column).is_not_null()).group_by(column).len().sort(column)
    return dict(found.iter_rows())


def dump(countries: Mapping[str, Quality], elsewhere: Quality) -> bytes:
    """The bytes of `quality.json`; `elsewhere` is what was read of no known country."""
    document = {
        "pays": {iso2: asdict(quality) for iso2, quality in sorted(countries.items())},
        "hors_pays": asdict(elsewhere),
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def load(packed: bytes, where: object) -> dict[str, Quality]:
    """The countries of a `quality.json`.

    Raises:
        BuildError: another version of the build wrote it.
    """
    try:
        document = orjson.loads(packed)
        return {iso2: Quality(**entry) for iso2, entry in document["pays"].items()}
    except (KeyError, TypeError, ValueError) as error:
        raise BuildError(
            f"{where} is of another version ({error}); build all countries, without --pays"
        ) from error


# -- for people ----------------------------------------------------------------------

_HEADINGS: Final = {
    "lues": "lues",
    "gardees": "gardées",
    "rejetees": "rejetées",
    "secteur": "secteur",
    "ca_eur": "CA",
    "effectif": "effectif",
    "total_actif_last": "actif",
    "comptes": "comptes",
    "contacts": "contacts",
}


def table(countries: Mapping[str, Quality], elsewhere: Quality) -> list[str]:
    """The report as lines for a terminal: a row a country that has rows, then what to look into."""
    present = {iso2: q for iso2, q in sorted(countries.items()) if q.lues or q.lignes_lues}
    empty = sorted(countries.keys() - present.keys())
    body = [
        _heading(),
        *(_line(iso2, quality) for iso2, quality in present.items()),
        _line("total", total(present.values())),
    ]
    if empty:
        body.append(f"sans société : {' '.join(empty)}")
    for place, quality in (*present.items(), ("hors des pays", elsewhere)):
        body += [f"{place} : {remark}" for remark in _remarks(quality)]
    return body


def total(qualities: Iterable[Quality]) -> Quality:
    """The sum of all countries."""
    summed: dict[str, Any] = {}
    for quality in qualities:
        for item in fields(Quality):
            summed[item.name] = _added(summed.get(item.name), getattr(quality, item.name))
    return Quality(**summed)


def _added(left: Any, right: Any) -> Any:
    if isinstance(right, Mapping):
        merged = dict(left or {})
        for name, count in right.items():
            merged[name] = merged.get(name, 0) + count
        return merged
    return (left or 0) + right


def _heading() -> str:
    return "".join(["pays ", *(f"{title:>11}" for title in _HEADINGS.values())])


def _line(place: str, quality: Quality) -> str:
    rejected = sum(quality.rejetees.values())
    numbers = [quality.lues, quality.gardees, rejected]
    shares = [_share(quality.renseignees.get(name, 0), quality.gardees) for name in SHARES]
    return "".join(
        [f"{place:<5}", *(f"{_n(n):>11}" for n in numbers), *(f"{s:>11}" for s in shares)]
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}".replace("%", " %") if whole else "-"


def _remarks(quality: Quality) -> Iterator[str]:
    yield from _listed("rejetées", quality.rejetees)
    yield from _listed("sans secteur", quality.sans_secteur)
    yield from _listed("codes inconnus", quality.codes_inconnus)
    yield from _listed("CA sans conversion", quality.sans_conversion)
    yield from _listed("lignes de comptes écartées", quality.lignes_ecartees)
    if quality.secteurs_devines:
        yield f"secteur deviné entre plusieurs (NACE Rév. 2.1) : {_n(quality.secteurs_devines)}"
    if quality.lignes_contradictoires:
        yield f"lignes de comptes contradictoires : {_n(quality.lignes_contradictoires)}"
    if quality.textes_coupes:
        yield f"textes trop longs : {_n(quality.textes_coupes)}"
    if quality.hors_format:
        yield f"identifiants d'un autre format : {_n(quality.hors_format)}"
    if quality.cles_fausses:
        checked = f"{_n(quality.cles_fausses)} sur {_n(quality.cles_verifiees)} vérifiées"
        yield f"clés de contrôle fausses : {checked}"


_SHOWN: Final = 6  # reasons on a line; the rest is in quality.json


def _listed(title: str, counts: Counts) -> Iterator[str]:
    if not counts:
        return
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{name} ({_n(count)})" for name, count in ranked[:_SHOWN])
    rest = sum(count for _, count in ranked[_SHOWN:])
    yield f"{title} : {shown}" + (f", autres ({_n(rest)})" if rest else "")


def _n(number: int) -> str:
    return f"{number:,}".replace(",", " ")
