"""Level 2 of the LEI data: real records as XML, and the columns of the golden copy as CSV."""

from pathlib import Path

import pytest

from pipeline.canonical import InputError
from tests.pipeline.registers.reading import RAW, read, rejected

RECORDS = RAW / "gleif" / "20231106-gleif-concatenated-file-rr.xml"
VUB, GENERALI = "549300JB1P61FUTPEZ75", "097900BHF50000076475"


def test_the_records_of_the_excerpt_are_relationships_and_those_of_funds_are_left_out(
    tmp_path: Path,
) -> None:
    found = read("gleif-rr", [RECORDS], tmp_path)

    rows = found.kept.collect().rows()
    assert rows[:3] == [
        # Accounting period of 2022; the relationship began on 24 October 2022.
        (GENERALI, VUB, "directe", "2022-10-24", None),
        ("097900BJGO0000201513", "9845002B9874D50A4531", "directe", "2014-11-06", None),
        ("097900BJGO0000201513", "9845002B9874D50A4531", "ultime", "2014-11-06", None),
    ]
    assert (found.counts.read, found.counts.kept) == (11, 7)
    assert found.counts.dropped == {"relation d'un fonds": 4}
    assert [day.date for day in found.dates.values()] == ["2023-11-06"]


START, END = "Relationship.StartNode.NodeID", "Relationship.EndNode.NodeID"
COLUMNS = [
    START, "Relationship.StartNode.NodeIDType", END, "Relationship.EndNode.NodeIDType",
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
]  # fmt: skip


def _table(path: Path, *rows: dict[str, str], columns: list[str] = COLUMNS) -> Path:
    usual = {
        START: GENERALI, "Relationship.StartNode.NodeIDType": "LEI",
        END: VUB, "Relationship.EndNode.NodeIDType": "LEI",
        "Relationship.RelationshipType": "IS_DIRECTLY_CONSOLIDATED_BY",
        "Relationship.RelationshipStatus": "ACTIVE", "Registration.RegistrationStatus": "PUBLISHED",
    }  # fmt: skip
    lines = [",".join(f'"{({**usual, **row}).get(name, "")}"' for name in columns) for row in rows]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n", encoding="utf-8")
    return path


def test_every_row_of_a_table_is_kept_or_counted_by_its_reason(tmp_path: Path) -> None:
    period = {
        "Relationship.Period.1.startDate": "2022-01-01T08:00:00+01:00",
        "Relationship.Period.1.endDate": "2022-12-31T08:00:00+01:00",
        "Relationship.Period.1.periodType": "ACCOUNTING_PERIOD",
        "Relationship.Period.2.startDate": "2022-10-24T00:30:00+02:00",
        "Relationship.Period.2.endDate": "jamais",
        "Relationship.Period.2.periodType": "RELATIONSHIP_PERIOD",
    }
    kind, status = "Relationship.RelationshipType", "Relationship.RelationshipStatus"
    table = _table(
        tmp_path / "20231106-rr.csv",
        period,
        period,
        {kind: "IS_INTERNATIONAL_BRANCH_OF", "Registration.RegistrationStatus": "LAPSED"},
        {kind: "IS_FEEDER_TO"},
        {status: "INACTIVE"},
        {status: "NULL"},
        {"Registration.RegistrationStatus": "ANNULLED"},
        {kind: "IS_FRIEND_OF"},
        {END: GENERALI},
        {START: "549300jb1p61futpez75"},
        {"Relationship.EndNode.NodeIDType": "ISO"},
    )

    found = read("gleif-rr", [table], tmp_path)

    assert found.kept.collect().rows() == [
        (GENERALI, VUB, "directe", "2022-10-24", None),
        (GENERALI, VUB, "succursale", None, None),
    ]
    assert found.counts.dropped == {
        "enregistrement retiré": 1, "relation d'un fonds": 1, "relation répétée": 1,
        "relation terminée": 2,
    }  # fmt: skip
    assert found.counts.rejected == {
        "LEI mal formé": 2, "nature de relation inconnue": 1, "relation avec soi-même": 1,
    }  # fmt: skip
    assert found.counts.noted == {"date illisible": 2}
    assert len(rejected(found)) == 4
    gone = sum(found.counts.dropped.values()) + sum(found.counts.rejected.values())
    assert found.counts.read == found.counts.kept + gone == 11


@pytest.mark.parametrize(
    ("columns", "message"),
    [([*COLUMNS, "Relationship.Mood"], "unknown column Relationship.Mood"),
     (COLUMNS[1:], f"no column {START}")],
)  # fmt: skip
def test_a_table_of_another_layout_is_refused(
    tmp_path: Path, columns: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read("gleif-rr", [_table(tmp_path / "rr.csv", {}, columns=columns)], tmp_path)
