"""Published files for the tests of registers: made-up filings and relationships, and rows as a register reads them."""

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from pipeline.registers import REGISTERS
from pipeline.registers.lei_relationships import RelationshipRecord
from pipeline.registers.register import RegisterRows

# The columns of the relationships of the LEI data in CSV (golden copy, RR-CDF 2.1).
RELATIONSHIP_COLUMNS: Final = (
    "Relationship.StartNode.NodeID", "Relationship.StartNode.NodeIDType",
    "Relationship.EndNode.NodeID", "Relationship.EndNode.NodeIDType",
    "Relationship.RelationshipType", "Relationship.RelationshipStatus",
    *(f"Relationship.Period.{n}.{name}"
      for n in range(1, 6) for name in ("startDate", "endDate", "periodType")),
    *(f"Relationship.Qualifiers.{n}.{name}"
      for n in range(1, 6) for name in ("QualifierDimension", "QualifierCategory")),
    *(f"Relationship.Quantifiers.{n}.{name}"
      for n in range(1, 6) for name in ("MeasurementMethod", "QuantifierAmount", "QuantifierUnits")),
    "Registration.InitialRegistrationDate", "Registration.LastUpdateDate",
    "Registration.RegistrationStatus", "Registration.NextRenewalDate", "Registration.ManagingLOU",
    "Registration.ValidationSources", "Registration.ValidationDocuments",
    "Registration.ValidationReference",
)  # fmt: skip


def zip_of(members: Mapping[str, bytes], **options: Any) -> bytes:
    """A zip with these members; `options` are those of `zipfile.ZipFile`."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", **options) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def read(source: str, files: Sequence[Path], work: Path) -> RegisterRows:
    """The rows and counts of published files of `source`; `work` is a folder for temporary files."""
    return REGISTERS[source].read(files, work)


def rows_by_id(reading: RegisterRows, ids: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """Some columns of the kept companies with these identifiers, in the order of the identifiers."""
    result = reading.kept.filter(pl.col("id").is_in(list(ids))).sort("id")
    return result.select(columns).collect()


def xbrl_filing(*days: str, **values: str) -> str:
    """A British filing in the taxonomy of 2004: the facts `values`, concept to pounds, on each of the days."""
    contexts = "".join(
        f'<context id="c{number}"><entity><identifier scheme="s">Ltd</identifier></entity>'
        f"<period><instant>{day}</instant></period></context>"
        for number, day in enumerate(days)
    )
    facts = "".join(
        f'<pt:{name} contextRef="c{number}" unitRef="GBP" decimals="0">{value}</pt:{name}>'
        for number in range(len(days))
        for name, value in values.items()
    )
    return (
        '<?xml version="1.0"?><xbrl xmlns="http://www.xbrl.org/2003/instance" xmlns:pt="pt"'
        ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f'{contexts}<unit id="GBP"><measure>iso4217:GBP</measure></unit>{facts}</xbrl>'
    )


def relationships_csv(
    path: Path,
    records: Sequence[RelationshipRecord],
    columns: Sequence[str] = RELATIONSHIP_COLUMNS,
) -> Path:
    """Write relationships of the LEI data to `path` as CSV (RR-CDF 2.1); returns the path."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, columns, extrasaction="ignore", quoting=csv.QUOTE_ALL)
        table.writeheader()
        for record in records:
            values = {
                "Relationship.StartNode.NodeID": record.child,
                "Relationship.StartNode.NodeIDType": record.child_type,
                "Relationship.EndNode.NodeID": record.parent,
                "Relationship.EndNode.NodeIDType": record.parent_type,
                "Relationship.RelationshipType": record.kind,
                "Relationship.RelationshipStatus": record.status,
                "Relationship.Qualifiers.1.QualifierDimension": "ACCOUNTING_STANDARD",
                "Relationship.Qualifiers.1.QualifierCategory": "IFRS",
                "Registration.RegistrationStatus": record.registration,
            }
            for number, period in enumerate(record.periods, start=1):
                period_fields = ("startDate", "endDate", "periodType")
                period_columns = (f"Relationship.Period.{number}.{name}" for name in period_fields)
                values |= zip(period_columns, period, strict=True)
            table.writerow(values)
    return path


def relationships_xml(path: Path, day: str, records: Sequence[RelationshipRecord]) -> Path:
    """Relationships of the LEI data as XML (RR-CDF 2.1), with the day of their content."""
    path.write_text(
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<rr:RelationshipData xmlns:rr="http://www.gleif.org/data/schema/rr/2016"><rr:Header>'
        f"<rr:ContentDate>{day}T08:00:00Z</rr:ContentDate>"
        f"<rr:RecordCount>{len(records)}</rr:RecordCount></rr:Header><rr:RelationshipRecords>"
        f"{''.join(map(_relationship_xml, records))}"
        "</rr:RelationshipRecords></rr:RelationshipData>",
        encoding="utf-8",
    )
    return path


def _relationship_xml(record: RelationshipRecord) -> str:
    """A relationship as an element of RR-CDF 2.1, with constant qualifiers and quantifiers."""

    def element(name: str, *inside: str) -> str:
        """An element with these texts or elements inside; empty if all of them are empty."""
        return f"<rr:{name}>{''.join(inside)}</rr:{name}>" if any(inside) else ""

    def node(name: str, lei: str, id_type: str) -> str:
        """The child or the parent of the relationship."""
        return element(name, element("NodeID", lei), element("NodeIDType", id_type))

    periods = [
        element("RelationshipPeriod", element("StartDate", start), element("EndDate", end),
                element("PeriodType", period_type))
        for start, end, period_type in record.periods
    ]  # fmt: skip
    relationship = element(
        "Relationship",
        node("StartNode", record.child, record.child_type),
        node("EndNode", record.parent, record.parent_type),
        element("RelationshipType", record.kind),
        element("RelationshipPeriods", *periods),
        element("RelationshipStatus", record.status),
        element("RelationshipQualifiers", element("RelationshipQualifier",
                element("QualifierDimension", "ACCOUNTING_STANDARD"),
                element("QualifierCategory", "IFRS"))),
        element("RelationshipQuantifiers", element("RelationshipQuantifier",
                element("MeasurementMethod", "ACCOUNTING_CONSOLIDATION"),
                element("QuantifierAmount", "1.00"), element("QuantifierUnits", "PERCENTAGE"))),
    )  # fmt: skip
    registration = element("Registration", element("RegistrationStatus", record.registration))
    return element("RelationshipRecord", relationship, registration, "<rr:Extension/>")
