"""GLEIF golden copy, level 2: who consolidates whom (RR-CDF 2.1), as XML or CSV.

A record leads from a child to a parent. Three of the six kinds are of groups: direct and ultimate accounting
consolidation, and the head office of an international branch; those of funds are left out. A relationship that has
ended (INACTIVE, or its record RETIRED) is history and kept with its last day; without one it is left out, for nothing
would tell it from one that holds. Erroneous records (ANNULLED, DUPLICATE, a status NULL) are left out. Of the periods,
that of the relationship counts: the accounting period is only that of the accounts which prove it. A LAPSED record was
not renewed, and holds.

Level 2 names no one: a parent is known by its LEI alone.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, cast

import polars as pl

from pipeline.canonical import RELATIONS, InputError
from pipeline.registers import foreign_forms, packing, record_stream
from pipeline.registers.csv_rows import LEFT_OUT, CsvForm, CsvRows, RejectedRow
from pipeline.registers.packing import Member
from pipeline.registers.record_stream import LayoutError, RecordError
from pipeline.registers.register import REJECTED, FileDate, Register, RegisterRows, RowCounts

SOURCE: Final = "gleif-rr"
SUFFIXES: Final = (".xml", ".csv")
KINDS: Final = {
    "IS_DIRECTLY_CONSOLIDATED_BY": "directe",
    "IS_ULTIMATELY_CONSOLIDATED_BY": "ultime",
    "IS_INTERNATIONAL_BRANCH_OF": "succursale",
}
FUNDS: Final = ("IS_FUND-MANAGED_BY", "IS_SUBFUND_OF", "IS_FEEDER_TO")
WITHDRAWN: Final = ("ANNULLED", "DUPLICATE")
OF_FUND: Final = "relation d'un fonds"
ENDED: Final = "relation terminée sans dernier jour"
GONE: Final = "enregistrement retiré"
REPEATED: Final = "relation répétée"
NO_LEI: Final = "LEI mal formé"
UNKNOWN_KIND: Final = "nature de relation inconnue"
SELF: Final = "relation avec soi-même"
NO_DAY: Final = "date illisible"
_FIRST_YEAR: Final = 1000
_LAST_YEAR: Final = 2999
_LEI: Final = re.compile(r"[0-9A-Z]{18}[0-9]{2}")
_CONTENT_DATE: Final = re.compile(rb"ContentDate>(\d{4}-\d\d-\d\d)")
_CHANGES: Final = re.compile(rb"FileContent>(\w*DELTA\w*|QUERY_RESPONSE)")
_COUNT: Final = re.compile(rb"RecordCount>(\d+)")
_HEAD: Final = 1 << 16
_RELATION: Final = "Relationship"
_PERIODS: Final = 5  # of a row of the CSV
# The keys of a record of XML; the keys below those that are ignored are not looked at.
_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"Relationship", "Registration", "Extension"}),
    _RELATION: frozenset(
        {"StartNode", "EndNode", "RelationshipType", "RelationshipPeriods", "RelationshipStatus",
         "RelationshipQualifiers", "RelationshipQuantifiers"}
    ),
}  # fmt: skip
_USED: Final = {
    "Relationship.StartNode.NodeID": "child", "Relationship.StartNode.NodeIDType": "child_type",
    "Relationship.EndNode.NodeID": "parent", "Relationship.EndNode.NodeIDType": "parent_type",
    "Relationship.RelationshipType": "kind", "Relationship.RelationshipStatus": "status",
    "Registration.RegistrationStatus": "registration",
}  # fmt: skip
# How a relationship was checked and recorded, and the standard and share of its consolidation.
_IGNORED: Final = re.compile(r"(Registration|Relationship\.(Qualifiers|Quantifiers)\.\d)\..*")
_PERIOD: Final = re.compile(r"Relationship\.Period\.\d\.(startDate|endDate|periodType)")


class RelationshipRecord(NamedTuple):
    """A published record; periods are (first day, last day, type)."""

    child: str
    child_type: str
    parent: str
    parent_type: str
    kind: str
    status: str
    registration: str
    periods: Sequence[tuple[str, str, str]]


def read(files: Sequence[Path], work: Path, memory: int | None = None) -> RegisterRows:
    """The relationships of the published files; a later file adds to those before it.

    Raises:
        InputError: a damaged file, or one of another layout.
    """
    del work, memory
    kept: dict[tuple[Any, ...], None] = {}
    counts: dict[str, Counter[str]] = {
        "dropped": Counter(),
        "rejected": Counter(),
        "noted": Counter(),
    }
    rejected: list[dict[str, Any]] = []
    number = 0
    for name, line, record in _records(files):
        number += 1
        if isinstance(record, RejectedRow):
            counts["rejected"][record.reason] += 1
            rejected.append({"fichier": name, "ligne": line, "id": None, "nom": None,
                             "motif": record.reason, "detail": record.detail})  # fmt: skip
        elif why := _reason_to_drop(record):
            counts["dropped"][why] += 1
        elif why := _fault(record):
            counts["rejected"][why] += 1
            rejected.append({"fichier": name, "ligne": line, "id": record.child, "nom": None,
                             "motif": why, "detail": f"{record.kind} {record.parent}"})  # fmt: skip
        else:
            days, unread = _days(record)
            counts["noted"][NO_DAY] += unread
            row = (record.child, record.parent, KINDS[record.kind], *days)
            counts["dropped"][REPEATED] += row in kept
            kept[row] = None
    found = {
        name: {why: n for why, n in sorted(count.items()) if n} for name, count in counts.items()
    }
    return RegisterRows(
        stems=tuple(dict.fromkeys(packing.stem(file).removesuffix(".xml") for file in files)),
        kept=pl.LazyFrame(list(kept), schema=dict(RELATIONS), orient="row"),
        rejected=pl.LazyFrame(rejected, schema=dict(REJECTED)),
        counts=RowCounts(
            number, len(kept), found["dropped"], found["rejected"], noted=found["noted"]
        ),
        dates={file: day for file in files if (day := _content_date(file))},
    )


def count_rows(file: Path) -> int:
    """The records of a published file.

    Raises:
        InputError: as `read`.
    """
    return sum(1 for _ in _records([file]))


def _reason_to_drop(record: RelationshipRecord) -> str | None:
    """The reason to leave a good record out."""
    if record.kind in FUNDS:
        return OF_FUND
    if record.registration in WITHDRAWN:
        return GONE
    if record.status not in ("ACTIVE", "INACTIVE"):
        return GONE
    ended = record.status == "INACTIVE" or record.registration == "RETIRED"
    return ENDED if ended and _days(record)[0][1] is None else None


def _fault(record: RelationshipRecord) -> str | None:
    if record.kind not in KINDS:
        return UNKNOWN_KIND
    types = (record.child_type, record.parent_type)
    if types != ("LEI", "LEI") or not all(map(_LEI.fullmatch, (record.child, record.parent))):
        return NO_LEI
    return SELF if record.child == record.parent else None


def _days(record: RelationshipRecord) -> tuple[tuple[str | None, str | None], int]:
    """The first and the last day of the relationship, and how many could not be read."""
    for first, last, kind in record.periods:
        if kind == "RELATIONSHIP_PERIOD":
            days = _day(first), _day(last)
            return days, sum(
                bool(text) and not day for text, day in zip((first, last), days, strict=True)
            )
    return (None, None), 0


def _day(moment: str) -> str | None:
    """The day of a moment in ISO form, in its own time zone; none for a year that stands for no date."""
    try:
        day = date.fromisoformat(moment.strip()[:10])
    except ValueError:
        return None
    return day.isoformat() if _FIRST_YEAR <= day.year <= _LAST_YEAR else None


def _records(files: Sequence[Path]) -> Iterator[tuple[str, int, RelationshipRecord | RejectedRow]]:
    """Every record with the name of its file and its place there."""
    for file in files:
        for member in packing.members(file, SUFFIXES):
            reader: Callable[[IO[bytes]], Iterator[RelationshipRecord | RejectedRow]] | None = (
                _reader(member)
            )
            if reader is None:
                raise InputError(
                    f"{member.name}: {SOURCE} reads {' and '.join(SUFFIXES)}; take one of these"
                )
            try:
                line = 0
                with member.open() as stream:
                    head = cast(io.BufferedReader, stream).peek(_HEAD)
                    foreign_forms.refuse(member.name, foreign_forms.of_text(head))
                    for line, record in enumerate(reader(stream), start=1):
                        yield member.name, line, record
                with member.open() as stream:
                    _check_head(member.name, stream.read(_HEAD), line)
            except (RecordError, UnicodeDecodeError, csv.Error, OSError, *packing.BROKEN) as error:
                raise InputError(
                    f"{member.name}: {error}; {record_stream.remedy(error)}"
                ) from error


def _reader(
    member: Member,
) -> Callable[[IO[bytes]], Iterator[RelationshipRecord | RejectedRow]] | None:
    return {".xml": _from_xml, ".csv": _from_csv}.get(Path(member.name).suffix.lower())


def _check_head(name: str, head: bytes, records: int) -> None:
    """Hold the records of an XML file to the marks in its head."""
    if changes := _CHANGES.search(head):
        raise InputError(
            f"{name} has changes or a part alone, by its head ({changes[1].decode()}); give the golden copy"
        )
    if (stated := _COUNT.search(head)) and int(stated[1]) != records:
        raise InputError(
            f"{name} has {records:,} records, and its head says {int(stated[1]):,}: it is a part, or damaged;"
            " download the whole again"
        )


def _from_xml(stream: IO[bytes]) -> Iterator[RelationshipRecord]:
    for found in record_stream.xml_elements(stream, "RelationshipRecord"):
        relation, registration = found.get(_RELATION, {}), found.get("Registration", {})
        for place, below in (("", found), (_RELATION, relation)):
            if unknown := sorted(key for key in below.keys() - _KEYS[place] if key[:1] not in "@$"):
                raise LayoutError(
                    f"unknown element {unknown[0]!r} in {place or 'RelationshipRecord'}"
                )
        periods = relation.get("RelationshipPeriods", {}).get("RelationshipPeriod", [])
        start, end = relation.get("StartNode", {}), relation.get("EndNode", {})
        yield RelationshipRecord(
            _text(start, "NodeID"), _text(start, "NodeIDType"),
            _text(end, "NodeID"), _text(end, "NodeIDType"),
            _text(relation, "RelationshipType"), _text(relation, "RelationshipStatus"),
            _text(registration, "RegistrationStatus"),
            [
                (_text(one, "StartDate"), _text(one, "EndDate"), _text(one, "PeriodType"))
                for one in (periods if isinstance(periods, list) else [periods])
            ],
        )  # fmt: skip


def _from_csv(stream: IO[bytes]) -> Iterator[RelationshipRecord | RejectedRow]:
    head = cast(io.BufferedReader, stream).peek(_HEAD).split(b"\n", 1)[0].decode("utf-8-sig")
    columns = next(csv.reader([head]), [])
    if missing := [name for name in _USED if name not in columns]:
        raise RecordError(f"no column {missing[0]}")
    for name in columns:
        if name not in _USED and not _IGNORED.fullmatch(name) and not _PERIOD.fullmatch(name):
            raise LayoutError(f"unknown column {name}")
    rejected: list[RejectedRow] = []
    rows = CsvRows(stream, CsvForm(",", '"', len(columns)), rejected.append)
    lines = (line for block in rows.blocks() for line in io.StringIO(block.decode(), newline="\n"))
    table = csv.reader(lines)
    next(table)
    for values in table:
        if values[0] == LEFT_OUT:
            yield rejected.pop(0)
            continue
        row = dict(zip(columns, values, strict=True))
        yield RelationshipRecord(
            **{field: row[name] for name, field in _USED.items()},
            periods=[_period(row, number) for number in range(1, _PERIODS + 1)],
        )


def _period(row: Mapping[str, str], number: int) -> tuple[str, str, str]:
    first, last, kind = (
        row.get(f"Relationship.Period.{number}.{name}") or ""
        for name in ("startDate", "endDate", "periodType")
    )
    return first, last, kind


def _text(element: Mapping[str, Any], name: str) -> str:
    found = element.get(name)
    return str(found.get("$", "")).strip() if isinstance(found, dict) else ""


def _content_date(file: Path) -> FileDate | None:
    """The date in the head of an XML file; the others are dated by their names."""
    for member in packing.members(file, SUFFIXES):
        with member.open() as stream:
            if found := _CONTENT_DATE.search(stream.read(_HEAD)):
                return FileDate(found[1].decode(), "contenu")
    return None


REGISTER: Final = Register(
    source=SOURCE,
    table="relations",
    read=read,
    count_rows=count_rows,
)
