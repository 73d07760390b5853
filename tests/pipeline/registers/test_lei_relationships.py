"""Level 2 of the LEI data, as XML and CSV.

Level 2 has the relationships between entities. The tests make files in the published layout (RR-CDF 2.1); the last test
reads the excerpt of the golden copy.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from pipeline.canonical import InputError
from pipeline.registers import lei_relationships
from pipeline.registers.lei_relationships import RelationshipRecord
from tests.pipeline.registers.published import (
    RELATIONSHIP_COLUMNS,
    relationships_csv,
    relationships_xml,
)
from tests.pipeline.registers.reading import RAW, read, rejected_reasons
from tests.world import lei

# Three LEIs with valid check digits.
CHILD, PARENT, ULTIMATE_PARENT = map(lei, (1, 2, 3))
DIRECT_PARENT_RECORD = RelationshipRecord(
    CHILD, "LEI", PARENT, "LEI", "IS_DIRECTLY_CONSOLIDATED_BY", "ACTIVE", "PUBLISHED", ()
)
# Periods of a relationship: the first moment, the last moment (empty for none), and the type.
ACCOUNTING_PERIOD = ("2022-01-01T08:00:00+01:00", "2022-12-31T08:00:00+01:00", "ACCOUNTING_PERIOD")
OPEN_RELATIONSHIP_PERIOD = ("2021-04-12T00:30:00+02:00", "", "RELATIONSHIP_PERIOD")
FILING_PERIOD = ("2023-05-02T00:00:00Z", "", "DOCUMENT_FILING_PERIOD")


def _write_xml(folder: Path, records: Sequence[RelationshipRecord]) -> Path:
    """Publish these relationships as XML."""
    return relationships_xml(folder / "rr.xml", "2023-11-06", records)


def _write_csv(folder: Path, records: Sequence[RelationshipRecord]) -> Path:
    """Publish these relationships as CSV."""
    return relationships_csv(folder / "20231106-rr.csv", records)


as_xml_and_as_csv = pytest.mark.parametrize("publish", [_write_xml, _write_csv])
WriteFile = Callable[[Path, Sequence[RelationshipRecord]], Path]


def test_an_lei_of_the_tests_has_the_check_digits_of_the_standard() -> None:
    # ISO 17442: with letters as numbers from 10, an LEI is 1 modulo 97.
    for number in (1, 97, 20_231_106):
        digits = "".join(str(int(letter, 36)) for letter in lei(number))
        assert (len(lei(number)), int(digits) % 97) == (20, 1)


@as_xml_and_as_csv
def test_a_relationship_has_the_day_of_its_relationship_period_as_written(
    tmp_path: Path, publish: WriteFile
) -> None:
    """The start `2021-04-12T00:30:00+02:00` is 12 April, although it is 11 April in UTC."""
    ultimate, branch = "IS_ULTIMATELY_CONSOLIDATED_BY", "IS_INTERNATIONAL_BRANCH_OF"
    records = [
        DIRECT_PARENT_RECORD._replace(
            periods=[ACCOUNTING_PERIOD, OPEN_RELATIONSHIP_PERIOD, FILING_PERIOD]
        ),
        DIRECT_PARENT_RECORD._replace(
            parent=ULTIMATE_PARENT, kind=ultimate, periods=[OPEN_RELATIONSHIP_PERIOD]
        ),
        DIRECT_PARENT_RECORD._replace(child=ULTIMATE_PARENT, kind=branch, registration="LAPSED"),
        DIRECT_PARENT_RECORD._replace(child=ULTIMATE_PARENT, periods=[FILING_PERIOD]),
    ]

    reading = read("gleif-rr", [publish(tmp_path, records)], tmp_path)

    assert reading.kept.collect().rows() == [
        (CHILD, PARENT, "directe", "2021-04-12", None),
        (CHILD, ULTIMATE_PARENT, "ultime", "2021-04-12", None),
        (ULTIMATE_PARENT, PARENT, "succursale", None, None),
        (ULTIMATE_PARENT, PARENT, "directe", None, None),
    ]
    assert (reading.counts.read, reading.counts.kept, reading.counts.noted) == (4, 4, {})


@as_xml_and_as_csv
def test_a_relationship_that_ended_is_history_with_its_last_day(
    tmp_path: Path, publish: WriteFile
) -> None:
    """Fixed: INACTIVE relationships were dropped, so `anciens_liens` was empty for published files."""
    ended_period = ("2001-01-01T00:00:00Z", "2019-06-30T00:00:00Z", "RELATIONSHIP_PERIOD")
    records = [
        DIRECT_PARENT_RECORD._replace(status="INACTIVE", periods=[ACCOUNTING_PERIOD, ended_period]),
        DIRECT_PARENT_RECORD._replace(
            child=ULTIMATE_PARENT, registration="RETIRED", periods=[ended_period]
        ),
    ]

    reading = read("gleif-rr", [publish(tmp_path, records)], tmp_path)

    assert reading.kept.collect().rows() == [
        (CHILD, PARENT, "directe", "2001-01-01", "2019-06-30"),
        (ULTIMATE_PARENT, PARENT, "directe", "2001-01-01", "2019-06-30"),
    ]
    assert reading.counts.dropped == {}


def test_the_date_of_an_xml_file_is_its_content_date(tmp_path: Path) -> None:
    reading = read("gleif-rr", [_write_xml(tmp_path, [DIRECT_PARENT_RECORD])], tmp_path)

    assert [(day.date, day.origin) for day in reading.dates.values()] == [("2023-11-06", "contenu")]


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("0999-12-31T00:00:00Z", None),
        ("1000-01-01T00:00:00Z", "1000-01-01"),
        ("2999-12-31T00:00:00Z", "2999-12-31"),
        ("3000-01-01T00:00:00Z", None),  # a placeholder for no end
    ],
)
def test_a_year_before_1000_or_after_2999_is_no_date(
    tmp_path: Path, written: str, day: str | None
) -> None:
    record = DIRECT_PARENT_RECORD._replace(periods=[(written, "", "RELATIONSHIP_PERIOD")])

    reading = read("gleif-rr", [_write_xml(tmp_path, [record])], tmp_path)

    assert reading.kept.collect().rows() == [(CHILD, PARENT, "directe", day, None)]
    assert reading.counts.noted == ({} if day else {"date illisible": 1})


@as_xml_and_as_csv
def test_every_record_is_kept_or_counted_by_its_reason(tmp_path: Path, publish: WriteFile) -> None:
    """Only the first record is kept; its unreadable last day is null, and counted also for the repeated record."""
    with_unreadable_end = DIRECT_PARENT_RECORD._replace(
        periods=[ACCOUNTING_PERIOD, ("2021-04-12", "jamais", "RELATIONSHIP_PERIOD"), FILING_PERIOD]
    )
    records = [
        with_unreadable_end,
        with_unreadable_end,  # the repeated relationship
        *(DIRECT_PARENT_RECORD._replace(kind=kind) for kind in lei_relationships.FUNDS),  # three
        DIRECT_PARENT_RECORD._replace(status="INACTIVE"),
        DIRECT_PARENT_RECORD._replace(status="NULL"),
        DIRECT_PARENT_RECORD._replace(
            registration="RETIRED", periods=[ACCOUNTING_PERIOD, OPEN_RELATIONSHIP_PERIOD]
        ),
        *(
            DIRECT_PARENT_RECORD._replace(registration=status)
            for status in lei_relationships.WITHDRAWN
        ),
        DIRECT_PARENT_RECORD._replace(kind="IS_FRIEND_OF"),  # an unknown kind
        DIRECT_PARENT_RECORD._replace(parent=CHILD),  # a relationship with itself
        DIRECT_PARENT_RECORD._replace(child="0" * 17 + "abc"),  # not an LEI
        DIRECT_PARENT_RECORD._replace(parent_type="ISO"),  # the parent has no LEI
    ]
    path = publish(tmp_path, records)

    reading = read("gleif-rr", [path], tmp_path)

    assert reading.kept.collect().rows() == [(CHILD, PARENT, "directe", "2021-04-12", None)]
    assert reading.counts.dropped == {
        "enregistrement retiré": 3, "relation d'un fonds": 3, "relation répétée": 1,
        "relation terminée sans dernier jour": 2,
    }  # fmt: skip
    assert reading.counts.rejected == {
        "LEI mal formé": 2, "nature de relation inconnue": 1, "relation avec soi-même": 1,
    }  # fmt: skip
    assert reading.counts.noted == {"date illisible": 2}
    assert len(rejected_reasons(reading)) == 4
    left_out = sum(reading.counts.dropped.values()) + sum(reading.counts.rejected.values())
    assert reading.counts.read == reading.counts.kept + left_out == len(records)
    assert lei_relationships.count_rows(path) == len(records)


@pytest.mark.parametrize(
    ("columns", "message"),
    [((*RELATIONSHIP_COLUMNS, "Relationship.Mood"), "unknown column Relationship.Mood"),
     (RELATIONSHIP_COLUMNS[1:], f"no column {RELATIONSHIP_COLUMNS[0]}"),
     ((*RELATIONSHIP_COLUMNS, RELATIONSHIP_COLUMNS[0]), f"column {RELATIONSHIP_COLUMNS[0]} is there twice")],
)  # fmt: skip
def test_a_table_of_another_layout_is_refused(
    tmp_path: Path, columns: Sequence[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(
            "gleif-rr",
            [relationships_csv(tmp_path / "rr.csv", [DIRECT_PARENT_RECORD], columns)],
            tmp_path,
        )


def test_xml_of_another_layout_and_xml_that_is_cut_are_refused(tmp_path: Path) -> None:
    path = _write_xml(tmp_path, [DIRECT_PARENT_RECORD] * 3)
    text = path.read_text()
    path.write_text(text.replace("</rr:StartNode>", "</rr:StartNode><rr:Mood>good</rr:Mood>"))
    with pytest.raises(
        InputError, match=r"unknown element 'Mood' in Relationship.*layout has changed"
    ):
        read("gleif-rr", [path], tmp_path)

    path.write_text(text[:-200])
    with pytest.raises(InputError, match=r"rr\.xml: .*; download it again"):
        read("gleif-rr", [path], tmp_path)


def test_published_relationships_are_kept_or_counted(tmp_path: Path) -> None:
    reading = read("gleif-rr", [RAW / "gleif" / "rr-golden-copy-subset.csv.zip"], tmp_path)

    assert (reading.counts.read, reading.counts.kept) == (147, 137)
    assert reading.counts.dropped == {"relation répétée": 10}
    assert (reading.counts.rejected, reading.counts.noted) == ({}, {})
    kinds = reading.kept.collect()["nature"].value_counts().sort("nature").rows()
    assert kinds == [("directe", 82), ("succursale", 1), ("ultime", 54)]
    # The direct and the ultimate parent of this company is Thornico, of Denmark.
    assert reading.kept.filter(pl.col("lei") == "2138005D9I3VGZDWQQ60").collect().rows() == [
        ("2138005D9I3VGZDWQQ60", "213800L8FME63XZNGL62", kind, "2014-02-19", None)
        for kind in ("directe", "ultime")
    ]
