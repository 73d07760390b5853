"""The quality report: by country, the results of all rows and statement lines, and how many fields are known.

The report is part of a generation (`quality.json`), and a build prints it at the end. The report contains counts
and a few examples, but no time and no path, so the same input gives the same report.
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

# The keys of `renseignees`: all served fields; `comptes` (rows with statements); `contacts` (rows with a contact).
COUNTED: Final = (*FIELDS, "comptes", "contacts")
# The keys of COUNTED whose shares are printed on a terminal.
SHARES: Final = ("secteur", "ca_eur", "effectif", "total_actif_last", "comptes", "contacts")
# The most unknown codes, and the most unknown statuses, in the report of a country.
_MOST_EXAMPLES: Final = 20
_MOST_SHOWN: Final = 6  # the most reasons on a line of a terminal; all are in quality.json
# A row has a contact if one of these fields has a value.
_CONTACTS: Final = ("site_web", "email", "telephone")
# The key of the date of a country's files in `quality.json`; it is not a field of Quality.
_DATE_KEY: Final = "date_source"
# If a larger share of the companies with a status has an unmapped status, a gate closes, so the generation
# is not published (X1).
UNMAPPED_SHARE: Final = 0.01
# If a country has more texts with personal data than this share of its rows, a second gate closes; up to PERSONAL_FEW
# texts, this gate stays open, since in a small country a few texts are a large share.
PERSONAL_SHARE: Final = 0.001
PERSONAL_FEW: Final = 10

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
    # The most common statuses without a state.
    statuts_inconnus: Counts = field(default_factory=dict)
    sans_conversion: Counts = field(default_factory=dict)  # by reason
    valeurs_ecartees: Counts = field(default_factory=dict)  # impossible values, by `reason (field)`
    textes_coupes: int = 0
    adresses_ecartees: int = 0  # with another scheme than http and https
    courriels_ecartes: int = 0  # texts that are not e-mail addresses
    # Texts refused as personal, by column.
    donnees_personnelles: Counts = field(default_factory=dict)
    clauses_coupees: Counts = field(default_factory=dict)  # clauses that name a person, by column
    # Companies left out (`société`), or without a field, by field.
    oppositions: Counts = field(default_factory=dict)
    courriels_personnels: int = 0  # addresses at consumer providers, or of a given name
    lignes_lues: int = 0
    lignes_gardees: int = 0
    lignes_ecartees: Counts = field(default_factory=dict)  # by reason
    lignes_contradictoires: int = 0
    comptes_retenus: Counts = field(default_factory=dict)  # examples of accounts withheld
    # The identifiers: see `identifiers.Conformity`.
    hors_format: int = 0
    cles_verifiees: int = 0
    cles_fausses: int = 0


def frame_quality(frame: pl.DataFrame) -> Quality:
    """The report of finished rows, which can be a part of a country; `total` adds the reports of the parts."""
    unknown = frame.filter(pl.col(sectors.OUTSIDE) == sectors.UNKNOWN)
    contacts = pl.any_horizontal(pl.col(name).is_not_null() for name in _CONTACTS)
    filled_fields = frame.select(
        *(pl.col(name).is_not_null().sum() for name in FIELDS),
        comptes=pl.col(statement_lines.PRESENT).sum(),
        contacts=contacts.sum(),
    )
    complemented, filled_values = complements.count(frame)
    return Quality(
        gardees=frame.height,
        fusionnees=complemented,
        completees=filled_values,
        renseignees=filled_fields.row(0, named=True),
        sans_secteur=tally(frame, sectors.OUTSIDE),
        codes_inconnus=tally(unknown, sectors.PUBLISHED),
        secteurs_devines=int(frame[sectors.GUESSED].sum()),
        codes_secondaires_ecartes=int(frame[sectors.UNKNOWN_SECONDARY].sum()),
        avec_statut=frame["statut"].count(),
        statuts_sans_etat=frame[statuses.UNMAPPED].count(),
        statuts_inconnus=tally(frame, statuses.UNMAPPED),
        sans_conversion=tally(frame, money.UNCONVERTED),
        textes_coupes=int(frame[text_cleaning.CUT].sum()),
        adresses_ecartees=int(frame[text_cleaning.NO_LINK].sum()),
        courriels_ecartes=int(frame[text_cleaning.NO_EMAIL].sum()),
        courriels_personnels=int(frame[personal_data.MAILBOX].sum()),
    )


def country_quality(parts: Iterable[Quality]) -> Quality:
    """The report of a country, from the reports of its steps; of unknown codes and statuses, only the most common."""
    report = total(parts)
    return replace(
        report,
        codes_inconnus=_most_common(report.codes_inconnus),
        statuts_inconnus=_most_common(report.statuts_inconnus),
    )


def _most_common(counts: Counts) -> Counts:
    """The _MOST_EXAMPLES largest counts, in descending order."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_EXAMPLES])


def closed_gates(countries: Mapping[str, Quality]) -> list[str]:
    """A message for each country with too many unmapped statuses, or too many texts with personal data."""
    return [*_unmapped_status_messages(countries), *_personal_data_messages(countries)]


def _personal_data_messages(countries: Mapping[str, Quality]) -> list[str]:
    """A message for each country whose texts with personal data are more than PERSONAL_SHARE of its rows.

    The stage `personal_data` has patterns, not names of persons. Many matches mean that an importer reads a text about
    persons, in which more persons are named than the patterns match. Former names do not count, because registers
    publish names of sole merchants as former names.
    """
    columns = {
        iso2: set(report.donnees_personnelles) - {"noms_anterieurs"}
        for iso2, report in countries.items()
    }
    return [
        f"{iso2}: {total:,} texts of {report.lues:,} companies contain birth dates or officers (at most "
        f"{PERSONAL_SHARE:.1%}, and {PERSONAL_FEW}), in {', '.join(sorted(columns[iso2]))}; "
        "mend the importer"
        for iso2, report in sorted(countries.items())
        if (total := sum(report.donnees_personnelles[name] for name in columns[iso2]))
        > max(PERSONAL_FEW, PERSONAL_SHARE * report.lues)
    ]


def _unmapped_status_messages(countries: Mapping[str, Quality]) -> list[str]:
    """A message for each country with more unmapped statuses than UNMAPPED_SHARE."""
    return [
        f"{iso2}: {report.statuts_sans_etat:,} of {report.avec_statut:,} published statuses are not in "
        f"seeds/etats.csv (at most {UNMAPPED_SHARE:.0%}), such as "
        f"{', '.join(map(repr, list(_most_common(report.statuts_inconnus))[:3]))}; add them"
        for iso2, report in sorted(countries.items())
        if report.statuts_sans_etat > UNMAPPED_SHARE * report.avec_statut
    ]


def tally(frame: pl.DataFrame, column: str) -> dict[str, int]:
    """The count of each value of `column` except null, sorted by value."""
    counts = frame.filter(pl.col(column).is_not_null()).group_by(column).len().sort(column)
    return dict(counts.iter_rows())


def dump(
    countries: Mapping[str, Quality], elsewhere: Quality, dates: Mapping[str, str | None]
) -> bytes:
    """The bytes of `quality.json`.

    Args:
        elsewhere: the report of the rows without a known country.
        dates: the date of the files of companies, by country.
    """
    document = {
        "pays": {
            iso2: asdict(quality) | {_DATE_KEY: dates.get(iso2)}
            for iso2, quality in sorted(countries.items())
        },
        "hors_pays": asdict(elsewhere),
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def load(packed: bytes, where: object) -> dict[str, Quality]:
    """The reports of the countries in a `quality.json`; `where` is its path, for errors.

    Raises:
        BuildError: the report is of another version of the build.
    """
    try:
        document = orjson.loads(packed)
        return {
            iso2: Quality(**{key: value for key, value in entry.items() if key != _DATE_KEY})
            for iso2, entry in document["pays"].items()
        }
    except (KeyError, TypeError, ValueError) as error:
        raise BuildError(
            f"{where} is of another version ({error}); build all countries, without --pays"
        ) from error


# -- the table for a terminal --------------------------------------------------------

# The last six are the columns of SHARES.
_HEADINGS: Final = (
    *("read", "kept", "rejected"),
    *("sector", "turnover", "headcount", "assets", "statements", "contacts"),
)


def table(countries: Mapping[str, Quality], elsewhere: Quality) -> list[str]:
    """The report for a terminal: one line per country with rows, then the remarks.

    Args:
        elsewhere: the report of the rows without a known country.
    """
    with_rows = {iso2: q for iso2, q in sorted(countries.items()) if q.lues or q.lignes_lues}
    empty = sorted(countries.keys() - with_rows.keys())
    lines = [
        _heading(),
        *(_line(iso2, quality) for iso2, quality in with_rows.items()),
        _line("total", total(with_rows.values())),
    ]
    if empty:
        lines.append(f"no company: {' '.join(empty)}")
    for label, quality in (*with_rows.items(), ("other countries", elsewhere)):
        lines += [f"{label}: {remark}" for remark in _remarks(quality)]
    return lines


# -- sums of reports -----------------------------------------------------------------


def total(qualities: Iterable[Quality]) -> Quality:
    """The sum of reports: numbers are added, and counts are added key by key."""
    summed: dict[str, Any] = {}
    for quality in qualities:
        for item in fields(Quality):
            summed[item.name] = _add_values(summed.get(item.name), getattr(quality, item.name))
    return Quality(**summed)


def _add_values(left: Any, right: Any) -> Any:
    """The sum of two values of a field; `left` is None before the first report."""
    if isinstance(right, Mapping):
        merged = dict(left or {})
        for name, count in right.items():
            merged[name] = merged.get(name, 0) + count
        return merged
    return (left or 0) + right


# -- the lines of the table ----------------------------------------------------------


def _heading() -> str:
    """The line of column titles of the table."""
    return "".join([f"{'iso2':<5}", *(f"{title:>11}" for title in _HEADINGS)])


def _line(place: str, quality: Quality) -> str:
    """A line of the table; `place` is a country or `total`."""
    rejected = sum(quality.rejetees.values())
    numbers = [quality.lues, quality.gardees, rejected]
    shares = [_share(quality.renseignees.get(name, 0), quality.gardees) for name in SHARES]
    return "".join([f"{place:<5}", *(f"{n:>11,}" for n in numbers), *(f"{s:>11}" for s in shares)])


def _share(count: int, out_of: int) -> str:
    """A share in percent, for the table; a dash for a share of nothing."""
    return f"{count / out_of:.1%}" if out_of else "-"


def _remarks(quality: Quality) -> Iterator[str]:
    """The lines about a country after the table: each count that is not zero, in words."""
    yield from _list_counts("rejected", quality.rejetees)
    yield from _list_counts("complemented", quality.fusionnees)
    yield from _list_counts("filled by complements", quality.completees)
    yield from _list_counts("left out", quality.ecartees)
    yield from _list_counts("no sector", quality.sans_secteur)
    yield from _list_counts("unknown codes", quality.codes_inconnus)
    if quality.codes_secondaires_ecartes:
        yield f"further activity codes left out: {quality.codes_secondaires_ecartes:,}"
    if quality.statuts_sans_etat:
        share = f"{quality.statuts_sans_etat:,} of {quality.avec_statut:,}"
        yield from _list_counts(f"statuses without a state ({share})", quality.statuts_inconnus)
    yield from _list_counts("turnover not converted", quality.sans_conversion)
    yield from _list_counts("statement lines left out", quality.lignes_ecartees)
    if quality.comptes_retenus:
        yield f"accounts withheld, e.g.: {', '.join(map(console.english_reason, quality.comptes_retenus))}"
    if quality.secteurs_devines:
        yield f"sector chosen among several (NACE Rev. 2.1): {quality.secteurs_devines:,}"
    if quality.lignes_contradictoires:
        yield f"contradictory statement lines: {quality.lignes_contradictoires:,}"
    yield from _list_counts("impossible values, left out", quality.valeurs_ecartees)
    if quality.textes_coupes:
        yield f"texts cut: {quality.textes_coupes:,}"
    if quality.adresses_ecartees:
        yield f"addresses that are not web addresses, left out: {quality.adresses_ecartees:,}"
    if quality.courriels_ecartes:
        yield f"invalid e-mail addresses, left out: {quality.courriels_ecartes:,}"
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
    """A line with the _MOST_SHOWN largest counts and the sum of the others; no line without counts."""
    if not counts:
        return
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    top = ", ".join(console.reason_and_count(*item) for item in ranked[:_MOST_SHOWN])
    other_count = sum(count for _, count in ranked[_MOST_SHOWN:])
    yield f"{title}: {top}" + (f", others ({other_count:,})" if other_count else "")
