"""The quality report: the account of every row and line, and the share of known fields, by country.

The report is part of a generation (`quality.json`), and a build prints it at its end. It holds
counts and a few examples, no time and no path, so that the same input gives the same report.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

import orjson
import polars as pl

from pipeline import console
from pipeline.errors import BuildError
from pipeline.stages import (
    complements,
    money,
    personal_data,
    sectors,
    statement_lines,
    statuses,
    text_cleaning,
)
from shards.codec.record import FIELDS

# The counted fields: all that are served, rows with statements and rows with a contact.
COUNTED: Final = (*FIELDS, "comptes", "contacts")
# Those on a terminal.
SHARES: Final = ("secteur", "ca_eur", "effectif", "total_actif_last", "comptes", "contacts")
_EXAMPLES: Final = 20  # unknown codes that are named
_SHOWN: Final = 6  # reasons on a line; the rest is in quality.json
_CONTACTS: Final = ("site_web", "email", "telephone")
_DATE: Final = "date_source"  # of `sources.json`, beside the counts of a country
UNMAPPED_SHARE: Final = 0.01  # of the companies with a status; more unmapped ones close a gate (X1)

PERSONAL_SHARE: Final = 0.001  # of the companies with a text refused as personal; more close a gate
PERSONAL_FEW: Final = 10  # of a small country, as few as these close none

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Quality:
    """The report of one country; the fields are the keys of `quality.json`.

    Rows: `lues` = `gardees` + the values of `rejetees`, `fusionnees` and `ecartees`. Statement lines: `lignes_lues` =
    `lignes_gardees` + the values of `lignes_ecartees`.
    """

    lues: int = 0
    gardees: int = 0
    rejetees: Counts = field(default_factory=dict)
    fusionnees: Counts = field(default_factory=dict)  # rows of complements, by source
    ecartees: Counts = field(default_factory=dict)  # rows of complements, by reason
    completees: Counts = field(default_factory=dict)  # rows filled, by `source field`
    renseignees: Counts = field(default_factory=dict)  # rows with a value, for each of COUNTED
    sans_secteur: Counts = field(default_factory=dict)  # by reason
    codes_inconnus: Counts = field(default_factory=dict)  # the most common
    secteurs_devines: int = 0  # sector chosen among several candidates (Rev. 2.1)
    codes_secondaires_ecartes: int = 0  # unknown or outside NACE
    avec_statut: int = 0
    statuts_sans_etat: int = 0
    statuts_inconnus: Counts = field(default_factory=dict)  # of these, the most common
    sans_conversion: Counts = field(default_factory=dict)  # by reason
    valeurs_ecartees: Counts = field(default_factory=dict)  # that cannot be, by `reason (field)`
    textes_coupes: int = 0
    adresses_ecartees: int = 0  # with another scheme than http and https
    courriels_ecartes: int = 0  # texts that are no e-mail address
    donnees_personnelles: Counts = field(
        default_factory=dict
    )  # texts refused as personal, by column
    clauses_coupees: Counts = field(default_factory=dict)  # that name a person, by column
    oppositions: Counts = field(default_factory=dict)  # companies, whole or by field
    courriels_personnels: int = 0  # addresses at consumer providers, or of a given name
    lignes_lues: int = 0
    lignes_gardees: int = 0
    lignes_ecartees: Counts = field(default_factory=dict)  # by reason
    lignes_contradictoires: int = 0
    comptes_retenus: Counts = field(default_factory=dict)  # examples of accounts withheld
    hors_format: int = 0
    cles_verifiees: int = 0
    cles_fausses: int = 0


def of_frame(frame: pl.DataFrame) -> Quality:
    """The report of some finished rows of a country; `total` sums several of these."""
    unknown = frame.filter(pl.col(sectors.OUTSIDE) == sectors.UNKNOWN)
    contacts = pl.any_horizontal(pl.col(name).is_not_null() for name in _CONTACTS)
    known = frame.select(
        *(pl.col(name).is_not_null().sum() for name in FIELDS),
        comptes=pl.col(statement_lines.PRESENT).sum(),
        contacts=contacts.sum(),
    )
    met, filled = complements.count(frame)
    return Quality(
        gardees=frame.height,
        fusionnees=met,
        completees=filled,
        renseignees=known.row(0, named=True),
        sans_secteur=tally(frame, sectors.OUTSIDE),
        codes_inconnus=tally(unknown, sectors.PUBLISHED),
        secteurs_devines=int(frame[sectors.GUESSED].sum()),
        codes_secondaires_ecartes=int(frame[sectors.UNKNOWN_FURTHER].sum()),
        avec_statut=frame["statut"].count(),
        statuts_sans_etat=frame[statuses.UNMAPPED].count(),
        statuts_inconnus=tally(frame, statuses.UNMAPPED),
        sans_conversion=tally(frame, money.UNCONVERTED),
        textes_coupes=int(frame[text_cleaning.CUT].sum()),
        adresses_ecartees=int(frame[text_cleaning.NO_LINK].sum()),
        courriels_ecartes=int(frame[text_cleaning.NO_EMAIL].sum()),
        courriels_personnels=int(frame[personal_data.MAILBOX].sum()),
    )


def of_country(parts: Iterable[Quality]) -> Quality:
    """The report of a country, from those of its steps; of unknown codes and statuses it has the most common."""
    report = total(parts)
    return replace(
        report,
        codes_inconnus=_most_common(report.codes_inconnus),
        statuts_inconnus=_most_common(report.statuts_inconnus),
    )


def _most_common(counts: Counts) -> Counts:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_EXAMPLES])


def closed_gates(countries: Mapping[str, Quality]) -> list[str]:
    """The countries with too many statuses without a state, or texts refused as personal, as messages."""
    return [*_unmapped_codes(countries), *_personal_countries(countries)]


def _personal_countries(countries: Mapping[str, Quality]) -> list[str]:
    """The countries where over PERSONAL_SHARE of the rows had a text with personal data.

    The stage knows patterns, not persons: so many of them say that an importer reads a text of persons,
    and that others, which no pattern finds, are in it. Former names do not count: registers publish those
    of sole merchants among them.
    """
    columns = {
        iso2: set(found.donnees_personnelles) - {"noms_anterieurs"}
        for iso2, found in countries.items()
    }
    return [
        f"{iso2}: {total:,} texts of {found.lues:,} companies hold birth dates or officers (at most "
        f"{PERSONAL_SHARE:.1%}, and {PERSONAL_FEW}), in {', '.join(sorted(columns[iso2]))}; "
        "mend the importer"
        for iso2, found in sorted(countries.items())
        if (total := sum(found.donnees_personnelles[name] for name in columns[iso2]))
        > max(PERSONAL_FEW, PERSONAL_SHARE * found.lues)
    ]


def _unmapped_codes(countries: Mapping[str, Quality]) -> list[str]:
    return [
        f"{iso2}: {found.statuts_sans_etat:,} of {found.avec_statut:,} published statuses are not in "
        f"seeds/etats.csv (at most {UNMAPPED_SHARE:.0%}), such as "
        f"{', '.join(map(repr, list(_most_common(found.statuts_inconnus))[:3]))}; add them"
        for iso2, found in sorted(countries.items())
        if found.statuts_sans_etat > UNMAPPED_SHARE * found.avec_statut
    ]


def tally(frame: pl.DataFrame, column: str) -> dict[str, int]:
    """The count of each value of `column`, sorted by value, null left out."""
    found = frame.filter(pl.col(column).is_not_null()).group_by(column).len().sort(column)
    return dict(found.iter_rows())


def dump(
    countries: Mapping[str, Quality], elsewhere: Quality, dates: Mapping[str, str | None]
) -> bytes:
    """The bytes of `quality.json`.

    Args:
        elsewhere: the account of the rows of no known country.
        dates: by country, the date of the files of its companies.
    """
    document = {
        "pays": {
            iso2: asdict(quality) | {_DATE: dates.get(iso2)}
            for iso2, quality in sorted(countries.items())
        },
        "hors_pays": asdict(elsewhere),
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def load(packed: bytes, where: object) -> dict[str, Quality]:
    """The countries of a `quality.json`.

    Raises:
        BuildError: a report of another version of the build.
    """
    try:
        document = orjson.loads(packed)
        return {
            iso2: Quality(**{key: value for key, value in entry.items() if key != _DATE})
            for iso2, entry in document["pays"].items()
        }
    except (KeyError, TypeError, ValueError) as error:
        raise BuildError(
            f"{where} is of another version ({error}); build all countries, without --pays"
        ) from error


# -- for people ----------------------------------------------------------------------

# The last six are the columns of SHARES.
_HEADINGS: Final = (
    *("read", "kept", "rejected"),
    *("sector", "turnover", "headcount", "assets", "statements", "contacts"),
)


def table(countries: Mapping[str, Quality], elsewhere: Quality) -> list[str]:
    """The report for a terminal: one line per country that has rows, then the remarks."""
    present = {iso2: q for iso2, q in sorted(countries.items()) if q.lues or q.lignes_lues}
    empty = sorted(countries.keys() - present.keys())
    body = [
        _heading(),
        *(_line(iso2, quality) for iso2, quality in present.items()),
        _line("total", total(present.values())),
    ]
    if empty:
        body.append(f"no company: {' '.join(empty)}")
    for place, quality in (*present.items(), ("other countries", elsewhere)):
        body += [f"{place}: {remark}" for remark in _remarks(quality)]
    return body


def total(qualities: Iterable[Quality]) -> Quality:
    """The sum of reports: numbers added, counts added key by key."""
    summed: dict[str, Any] = {}
    for quality in qualities:
        for item in fields(Quality):
            summed[item.name] = _add(summed.get(item.name), getattr(quality, item.name))
    return Quality(**summed)


def _add(left: Any, right: Any) -> Any:
    if isinstance(right, Mapping):
        merged = dict(left or {})
        for name, count in right.items():
            merged[name] = merged.get(name, 0) + count
        return merged
    return (left or 0) + right


def _heading() -> str:
    return "".join([f"{'iso2':<5}", *(f"{title:>11}" for title in _HEADINGS)])


def _line(place: str, quality: Quality) -> str:
    rejected = sum(quality.rejetees.values())
    numbers = [quality.lues, quality.gardees, rejected]
    shares = [_share(quality.renseignees.get(name, 0), quality.gardees) for name in SHARES]
    return "".join([f"{place:<5}", *(f"{n:>11,}" for n in numbers), *(f"{s:>11}" for s in shares)])


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _remarks(quality: Quality) -> Iterator[str]:
    yield from _list_counts("rejected", quality.rejetees)
    yield from _list_counts("complemented", quality.fusionnees)
    yield from _list_counts("filled by complements", quality.completees)
    yield from _list_counts("left out", quality.ecartees)
    yield from _list_counts("no sector", quality.sans_secteur)
    yield from _list_counts("unknown codes", quality.codes_inconnus)
    if quality.codes_secondaires_ecartes:
        yield f"further activity codes left out: {quality.codes_secondaires_ecartes:,}"
    if quality.statuts_sans_etat:
        shown = f"{quality.statuts_sans_etat:,} of {quality.avec_statut:,}"
        yield from _list_counts(f"statuses without a state ({shown})", quality.statuts_inconnus)
    yield from _list_counts("turnover not converted", quality.sans_conversion)
    yield from _list_counts("statement lines left out", quality.lignes_ecartees)
    if quality.comptes_retenus:
        yield f"accounts withheld, e.g.: {', '.join(map(console.english_reason, quality.comptes_retenus))}"
    if quality.secteurs_devines:
        yield f"sector chosen among several (NACE Rev. 2.1): {quality.secteurs_devines:,}"
    if quality.lignes_contradictoires:
        yield f"contradictory statement lines: {quality.lignes_contradictoires:,}"
    yield from _list_counts("values that cannot be, left out", quality.valeurs_ecartees)
    if quality.textes_coupes:
        yield f"texts cut: {quality.textes_coupes:,}"
    if quality.adresses_ecartees:
        yield f"addresses that are none of the web, left out: {quality.adresses_ecartees:,}"
    if quality.courriels_ecartes:
        yield f"e-mail addresses that are none, left out: {quality.courriels_ecartes:,}"
    yield from _list_counts("birth dates and officers, left out", quality.donnees_personnelles)
    yield from _list_counts("clauses that name a person, cut", quality.clauses_coupees)
    yield from _list_counts("left out by objections", quality.oppositions)
    if quality.courriels_personnels:
        yield f"e-mail addresses of persons: {quality.courriels_personnels:,}"
    if quality.hors_format:
        yield f"identifiers of another format: {quality.hors_format:,}"
    if quality.cles_fausses:
        checked = f"{quality.cles_fausses:,} of {quality.cles_verifiees:,} checked"
        yield f"wrong check digits: {checked}"


def _list_counts(title: str, counts: Counts) -> Iterator[str]:
    if not counts:
        return
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(console.reason_and_count(*item) for item in ranked[:_SHOWN])
    rest = sum(count for _, count in ranked[_SHOWN:])
    yield f"{title}: {shown}" + (f", others ({rest:,})" if rest else "")
