"""GLEIF golden copy, level 2: who consolidates whom (RR-CDF 2.1), as XML or CSV.

A record leads from a child to a parent. Three of the six kinds concern groups: direct and ultimate accounting
consolidation, and the head office of an international branch. Kinds for funds are left out. An ended relationship
(INACTIVE, or its record RETIRED) is kept as history, with its last day. An ended relationship without a last day is
left out, because it would look like a current relationship. Erroneous records (ANNULLED, DUPLICATE, a status NULL) are
left out. Of the periods of a record, only the relationship period is used; the accounting period is that of the
accounts which prove the relationship. A LAPSED record was not renewed, but its relationship still holds.

Level 2 has no names: only the LEI identifies a parent.
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
from pipeline.registers import packing, record_stream, unexpected_formats
from pipeline.registers.csv_rows import LEFT_OUT, CsvForm, CsvRows, RejectedRow
from pipeline.registers.packing import Member
from pipeline.registers.record_stream import LayoutError, RecordError
from pipeline.registers.register import REJECTED, FileDate, Register, RegisterRows, RowCounts

SOURCE: Final = "gleif-rr"
SUFFIXES: Final = (".xml", ".csv")  # of the published files
# Kind of a relationship that is kept -> its name in the canonical column.
KINDS: Final = {
    "IS_DIRECTLY_CONSOLIDATED_BY": "directe",
    "IS_ULTIMATELY_CONSOLIDATED_BY": "ultime",
    "IS_INTERNATIONAL_BRANCH_OF": "succursale",
}
# Kinds of relationship of a fund, and states of a withdrawn record: such records are dropped.
FUNDS: Final = ("IS_FUND-MANAGED_BY", "IS_SUBFUND_OF", "IS_FEEDER_TO")
WITHDRAWN: Final = ("ANNULLED", "DUPLICATE")
# The reasons to drop or reject a record.
FUND_RELATION: Final = "relation d'un fonds"
ENDED_WITHOUT_DAY: Final = "relation terminée sans dernier jour"
RECORD_WITHDRAWN: Final = "enregistrement retiré"
REPEATED: Final = "relation répétée"
NO_LEI: Final = "LEI mal formé"
UNKNOWN_KIND: Final = "nature de relation inconnue"
WITH_ITSELF: Final = "relation avec soi-même"
UNREADABLE_DAY: Final = "date illisible"
# A date before the first or after the last of these years is a placeholder.
_FIRST_YEAR: Final = 1000
_LAST_YEAR: Final = 2999
_LEI: Final = re.compile(r"[0-9A-Z]{18}[0-9]{2}")
# In the header of an XML file: its date, a mark that it has only changes or a part, its number of records.
_CONTENT_DATE: Final = re.compile(rb"ContentDate>(\d{4}-\d\d-\d\d)")
_CHANGES_IN_HEADER: Final = re.compile(rb"FileContent>(\w*DELTA\w*|QUERY_RESPONSE)")
_COUNT_IN_HEADER: Final = re.compile(rb"RecordCount>(\d+)")
# The first bytes of a file, which contain the XML header or the CSV header.
_HEAD_BYTES: Final = 1 << 16
_RELATION: Final = "Relationship"  # the key of the relationship in an XML record
_PERIODS: Final = 5  # the number of periods that a row of the CSV has columns for
# The allowed keys of an XML record and of its Relationship; the keys further inside are not checked.
_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"Relationship", "Registration", "Extension"}),
    _RELATION: frozenset(
        {"StartNode", "EndNode", "RelationshipType", "RelationshipPeriods", "RelationshipStatus",
         "RelationshipQualifiers", "RelationshipQuantifiers"}
    ),
}  # fmt: skip
# Column of the CSV -> field of RelationshipRecord.
_USED: Final = {
    "Relationship.StartNode.NodeID": "child", "Relationship.StartNode.NodeIDType": "child_type",
    "Relationship.EndNode.NodeID": "parent", "Relationship.EndNode.NodeIDType": "parent_type",
    "Relationship.RelationshipType": "kind", "Relationship.RelationshipStatus": "status",
    "Registration.RegistrationStatus": "registration",
}  # fmt: skip
# Ignored columns: how a relationship was checked and recorded, and the standard and share of its consolidation.
_IGNORED: Final = re.compile(r"(Registration|Relationship\.(Qualifiers|Quantifiers)\.\d)\..*")
# The columns of periods.
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
    """The relationships of all published files; a repeated relationship is kept once.

    Raises:
        InputError: a damaged file, or a file of another layout.
    """
    del work, memory  # not needed: the relationships are kept in memory
    # The canonical rows, in their order and without repetition.
    relations: dict[tuple[Any, ...], None] = {}
    # Whether records were dropped, rejected or kept with a note -> reason -> number of records.
    counts: dict[str, Counter[str]] = {
        "dropped": Counter(),
        "rejected": Counter(),
        "noted": Counter(),
    }
    rejected: list[dict[str, Any]] = []
    records_read = 0
    for name, line, record in _records(files):
        records_read += 1
        if isinstance(record, RejectedRow):
            counts["rejected"][record.reason] += 1
            rejected.append({"fichier": name, "ligne": line, "id": None, "nom": None,
                             "motif": record.reason, "detail": record.detail})  # fmt: skip
        elif why_left_out := _reason_to_drop(record):
            counts["dropped"][why_left_out] += 1
        elif why_left_out := _fault(record):
            counts["rejected"][why_left_out] += 1
            rejected.append({"fichier": name, "ligne": line, "id": record.child, "nom": None,
                             "motif": why_left_out, "detail": f"{record.kind} {record.parent}"})  # fmt: skip
        else:
            days, unread = _days(record)
            counts["noted"][UNREADABLE_DAY] += unread
            row = (record.child, record.parent, KINDS[record.kind], *days)
            counts["dropped"][REPEATED] += row in relations
            relations[row] = None
    # The counts as dictionaries, sorted, without reasons that no record has.
    totals = {
        name: {
            why_left_out: count_of_reason
            for why_left_out, count_of_reason in sorted(count.items())
            if count_of_reason
        }
        for name, count in counts.items()
    }
    return RegisterRows(
        stems=tuple(dict.fromkeys(packing.stem(file).removesuffix(".xml") for file in files)),
        kept=pl.LazyFrame(list(relations), schema=dict(RELATIONS), orient="row"),
        rejected=pl.LazyFrame(rejected, schema=dict(REJECTED)),
        counts=RowCounts(
            records_read,
            len(relations),
            totals["dropped"],
            totals["rejected"],
            noted=totals["noted"],
        ),
        dates={file: day for file in files if (day := _content_date(file))},
    )


def count_rows(file: Path) -> int:
    """The number of records of a published file.

    Raises:
        InputError: as `read`.
    """
    return sum(1 for _ in _records([file]))


def _reason_to_drop(record: RelationshipRecord) -> str | None:
    """The reason to leave a readable record out; None to keep the record."""
    if record.kind in FUNDS:
        return FUND_RELATION
    if record.registration in WITHDRAWN:
        return RECORD_WITHDRAWN
    if record.status not in ("ACTIVE", "INACTIVE"):
        return RECORD_WITHDRAWN
    is_ended = record.status == "INACTIVE" or record.registration == "RETIRED"
    return ENDED_WITHOUT_DAY if is_ended and _days(record)[0][1] is None else None


def _fault(record: RelationshipRecord) -> str | None:
    """The reason to reject a faulty record; None for a good record."""
    if record.kind not in KINDS:
        return UNKNOWN_KIND
    types = (record.child_type, record.parent_type)
    if types != ("LEI", "LEI") or not all(map(_LEI.fullmatch, (record.child, record.parent))):
        return NO_LEI
    return WITH_ITSELF if record.child == record.parent else None


def _days(record: RelationshipRecord) -> tuple[tuple[str | None, str | None], int]:
    """The first and the last day of the relationship, each None if unknown, and the number of unreadable days."""
    for first_text, last_text, kind in record.periods:
        if kind == "RELATIONSHIP_PERIOD":
            days = _day(first_text), _day(last_text)
            return days, sum(
                bool(text) and not day
                for text, day in zip((first_text, last_text), days, strict=True)
            )
    return (None, None), 0


def _day(moment: str) -> str | None:
    """The day in an ISO date and time, as written, whatever its time zone; None for no date or a placeholder year."""
    try:
        day = date.fromisoformat(moment.strip()[:10])
    except ValueError:
        return None
    return day.isoformat() if _FIRST_YEAR <= day.year <= _LAST_YEAR else None


def _records(files: Sequence[Path]) -> Iterator[tuple[str, int, RelationshipRecord | RejectedRow]]:
    """Every record with the name of its file and its number in the file.

    Raises:
        InputError: a damaged or incomplete file, or a file of another layout.
    """
    for file in files:
        for member in packing.members(file, SUFFIXES):
            reader: Callable[[IO[bytes]], Iterator[RelationshipRecord | RejectedRow]] | None = (
                _reader(member)
            )
            if reader is None:
                raise InputError(
                    f"{member.name}: {SOURCE} reads {' and '.join(SUFFIXES)}; give one of these"
                )
            try:
                line = 0
                with member.open() as stream:
                    head = cast(io.BufferedReader, stream).peek(_HEAD_BYTES)
                    unexpected_formats.refuse(
                        member.name, unexpected_formats.server_message_format(head)
                    )
                    for line, record in enumerate(reader(stream), start=1):
                        yield member.name, line, record
                # The header comes first, but the number of records is known only now, so the file is opened again.
                with member.open() as stream:
                    _check_header(member.name, stream.read(_HEAD_BYTES), line)
            except (RecordError, UnicodeDecodeError, csv.Error, OSError, *packing.BROKEN) as error:
                raise InputError(
                    f"{member.name}: {error}; {record_stream.remedy(error)}"
                ) from error


def _reader(
    member: Member,
) -> Callable[[IO[bytes]], Iterator[RelationshipRecord | RejectedRow]] | None:
    """The function that reads the format of a file, by the suffix of its name; None for other suffixes."""
    return {".xml": _read_xml, ".csv": _read_csv}.get(Path(member.name).suffix.lower())


def _check_header(name: str, head: bytes, records: int) -> None:
    """Check a file against its XML header: the file must be complete, and have as many records as the header says.

    Raises:
        InputError: the file has only changes, or another number of records.
    """
    if changes := _CHANGES_IN_HEADER.search(head):
        raise InputError(
            f"{name} has only changes or a part, according to its header ({changes[1].decode()}); give the golden copy"
        )
    if (stated_count := _COUNT_IN_HEADER.search(head)) and int(stated_count[1]) != records:
        raise InputError(
            f"{name} has {records:,} records, and its head says {int(stated_count[1]):,}: it is incomplete or damaged;"
            " download the complete file again"
        )


def _read_xml(stream: IO[bytes]) -> Iterator[RelationshipRecord]:
    """The relationships in an XML file of the LEI system.

    Raises:
        LayoutError: an element is not in _KEYS, so the format has changed.
    """
    for record in record_stream.xml_elements(stream, "RelationshipRecord"):
        relation, registration = record.get(_RELATION, {}), record.get("Registration", {})
        for element_name, children in (("", record), (_RELATION, relation)):
            if unknown := sorted(
                key for key in children.keys() - _KEYS[element_name] if key[:1] not in "@$"
            ):
                raise LayoutError(
                    f"unknown element {unknown[0]!r} in {element_name or 'RelationshipRecord'}"
                )
        periods = relation.get("RelationshipPeriods", {}).get("RelationshipPeriod", [])
        start_node, end_node = relation.get("StartNode", {}), relation.get("EndNode", {})
        yield RelationshipRecord(
            _text(start_node, "NodeID"), _text(start_node, "NodeIDType"),
            _text(end_node, "NodeID"), _text(end_node, "NodeIDType"),
            _text(relation, "RelationshipType"), _text(relation, "RelationshipStatus"),
            _text(registration, "RegistrationStatus"),
            [
                (_text(period, "StartDate"), _text(period, "EndDate"), _text(period, "PeriodType"))
                for period in (periods if isinstance(periods, list) else [periods])
            ],
        )  # fmt: skip


def _read_csv(stream: IO[bytes]) -> Iterator[RelationshipRecord | RejectedRow]:
    """The relationships in a CSV file of the LEI system, and the rows that cannot be read, in the order of the file.

    Raises:
        RecordError: a column that is used is missing.
        LayoutError: a column is unknown, so the format has changed.
    """
    header = cast(io.BufferedReader, stream).peek(_HEAD_BYTES).split(b"\n", 1)[0]
    try:
        columns = next(csv.reader([header.decode("utf-8-sig")]), [])
    except UnicodeDecodeError as error:
        raise RecordError("its first line is not UTF-8") from error
    if repeated := [name for name in columns if columns.count(name) > 1]:
        raise RecordError(f"column {repeated[0]} is there twice")
    if missing := [name for name in _USED if name not in columns]:
        raise RecordError(f"no column {missing[0]}")
    for name in columns:
        if name not in _USED and not _IGNORED.fullmatch(name) and not _PERIOD.fullmatch(name):
            raise LayoutError(f"unknown column {name}")
    rejected: list[RejectedRow] = []
    rows = CsvRows(stream, CsvForm(",", '"', len(columns)), rejected.append)
    lines = (line for block in rows.blocks() for line in io.StringIO(block.decode(), newline="\n"))
    csv_reader = csv.reader(lines)
    next(csv_reader)
    for values in csv_reader:
        if values[0] == LEFT_OUT:
            yield rejected.pop(0)
            continue
        row = dict(zip(columns, values, strict=True))
        yield RelationshipRecord(
            **{field: row[name] for name, field in _USED.items()},
            periods=[_period(row, number) for number in range(1, _PERIODS + 1)],
        )


def _period(row: Mapping[str, str], number: int) -> tuple[str, str, str]:
    """The first day, last day and type of period `number` in a row of the CSV."""
    first, last, kind = (
        row.get(f"Relationship.Period.{number}.{name}") or ""
        for name in ("startDate", "endDate", "periodType")
    )
    return first, last, kind


def _text(element: Mapping[str, Any], name: str) -> str:
    """The text of the child `name` of an XML element; empty without such a child."""
    child = element.get(name)
    return str(child.get("$", "")).strip() if isinstance(child, dict) else ""


def _content_date(file: Path) -> FileDate | None:
    """The date in the header of an XML file; None for a CSV, whose date is in its name."""
    for member in packing.members(file, SUFFIXES):
        with member.open() as stream:
            if match := _CONTENT_DATE.search(stream.read(_HEAD_BYTES)):
                return FileDate(match[1].decode(), "contenu")
    return None


REGISTER: Final = Register(
    source=SOURCE,
    table="relations",
    read=read,
    count_rows=count_rows,
)
