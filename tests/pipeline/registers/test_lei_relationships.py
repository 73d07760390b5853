"""Level 2 of the LEI data, as XML and CSV.

Rows are made in the published layout (RR-CDF 2.1), but for the last test, which reads the excerpt of the golden copy.
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
from tests.pipeline.registers.reading import RAW, read, rejected
from tests.world import lei

CHILD, PARENT, TOP = map(lei, (1, 2, 3))
DIRECT = RelationshipRecord(
    CHILD, "LEI", PARENT, "LEI", "IS_DIRECTLY_CONSOLIDATED_BY", "ACTIVE", "PUBLISHED", ()
)
ACCOUNTING = ("2022-01-01T08:00:00+01:00", "2022-12-31T08:00:00+01:00", "ACCOUNTING_PERIOD")
SINCE = ("2021-04-12T00:30:00+02:00", "", "RELATIONSHIP_PERIOD")
FILED = ("2023-05-02T00:00:00Z", "", "DOCUMENT_FILING_PERIOD")


def _xml(folder: Path, records: Sequence[RelationshipRecord]) -> Path:
    return relationships_xml(folder / "rr.xml", "2023-11-06", records)


def _csv(folder: Path, records: Sequence[RelationshipRecord]) -> Path:
    return relationships_csv(folder / "20231106-rr.csv", records)


both_forms = pytest.mark.parametrize("publish", [_xml, _csv])
Publish = Callable[[Path, Sequence[RelationshipRecord]], Path]


def test_a_made_lei_has_the_check_digits_of_the_standard() -> None:
    for number in (1, 97, 20_231_106):
        digits = "".join(str(int(letter, 36)) for letter in lei(number))
        assert (len(lei(number)), int(digits) % 97) == (20, 1)


@both_forms
def test_the_days_are_those_of_the_relationship_in_their_own_time_zone(
    tmp_path: Path, publish: Publish
) -> None:
    ultimate, branch = "IS_ULTIMATELY_CONSOLIDATED_BY", "IS_INTERNATIONAL_BRANCH_OF"
    records = [
        DIRECT._replace(periods=[ACCOUNTING, SINCE, FILED]),
        DIRECT._replace(parent=TOP, kind=ultimate, periods=[SINCE]),
        DIRECT._replace(child=TOP, kind=branch, registration="LAPSED"),
        DIRECT._replace(child=TOP, periods=[FILED]),
    ]

    found = read("gleif-rr", [publish(tmp_path, records)], tmp_path)

    assert found.kept.collect().rows() == [
        (CHILD, PARENT, "directe", "2021-04-12", None),
        (CHILD, TOP, "ultime", "2021-04-12", None),
        (TOP, PARENT, "succursale", None, None),
        (TOP, PARENT, "directe", None, None),
    ]
    assert (found.counts.read, found.counts.kept, found.counts.noted) == (4, 4, {})


@both_forms
def test_a_relationship_that_ended_is_history_with_its_last_day(
    tmp_path: Path, publish: Publish
) -> None:
    """Before: an INACTIVE one was dropped, and `anciens_liens` had nothing of published files."""
    over = ("2001-01-01T00:00:00Z", "2019-06-30T00:00:00Z", "RELATIONSHIP_PERIOD")
    records = [
        DIRECT._replace(status="INACTIVE", periods=[ACCOUNTING, over]),
        DIRECT._replace(child=TOP, registration="RETIRED", periods=[over]),
    ]

    found = read("gleif-rr", [publish(tmp_path, records)], tmp_path)

    assert found.kept.collect().rows() == [
        (CHILD, PARENT, "directe", "2001-01-01", "2019-06-30"),
        (TOP, PARENT, "directe", "2001-01-01", "2019-06-30"),
    ]
    assert found.counts.dropped == {}


def test_xml_tells_the_day_of_its_content(tmp_path: Path) -> None:
    found = read("gleif-rr", [_xml(tmp_path, [DIRECT])], tmp_path)

    assert [(day.date, day.origin) for day in found.dates.values()] == [("2023-11-06", "contenu")]


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("0999-12-31T00:00:00Z", None),
        ("1000-01-01T00:00:00Z", "1000-01-01"),
        ("2999-12-31T00:00:00Z", "2999-12-31"),
        ("3000-01-01T00:00:00Z", None),  # for no end
    ],
)
def test_a_year_that_stands_for_no_date_gives_no_day(
    tmp_path: Path, written: str, day: str | None
) -> None:
    record = DIRECT._replace(periods=[(written, "", "RELATIONSHIP_PERIOD")])

    found = read("gleif-rr", [_xml(tmp_path, [record])], tmp_path)

    assert found.kept.collect().rows() == [(CHILD, PARENT, "directe", day, None)]
    assert found.counts.noted == ({} if day else {"date illisible": 1})


@both_forms
def test_every_record_is_kept_or_counted_by_its_reason(tmp_path: Path, publish: Publish) -> None:
    unread = DIRECT._replace(
        periods=[ACCOUNTING, ("2021-04-12", "jamais", "RELATIONSHIP_PERIOD"), FILED]
    )
    records = [
        unread,
        unread,
        *(DIRECT._replace(kind=kind) for kind in lei_relationships.FUNDS),
        DIRECT._replace(status="INACTIVE"),
        DIRECT._replace(status="NULL"),
        DIRECT._replace(registration="RETIRED", periods=[ACCOUNTING, SINCE]),
        *(DIRECT._replace(registration=status) for status in lei_relationships.WITHDRAWN),
        DIRECT._replace(kind="IS_FRIEND_OF"),
        DIRECT._replace(parent=CHILD),
        DIRECT._replace(child="0" * 17 + "abc"),
        DIRECT._replace(parent_type="ISO"),
    ]
    path = publish(tmp_path, records)

    found = read("gleif-rr", [path], tmp_path)

    assert found.kept.collect().rows() == [(CHILD, PARENT, "directe", "2021-04-12", None)]
    assert found.counts.dropped == {
        "enregistrement retiré": 3, "relation d'un fonds": 3, "relation répétée": 1,
        "relation terminée sans dernier jour": 2,
    }  # fmt: skip
    assert found.counts.rejected == {
        "LEI mal formé": 2, "nature de relation inconnue": 1, "relation avec soi-même": 1,
    }  # fmt: skip
    assert found.counts.noted == {"date illisible": 2}
    assert len(rejected(found)) == 4
    gone = sum(found.counts.dropped.values()) + sum(found.counts.rejected.values())
    assert found.counts.read == found.counts.kept + gone == len(records)
    assert lei_relationships.count_rows(path) == len(records)


@pytest.mark.parametrize(
    ("columns", "message"),
    [((*RELATIONSHIP_COLUMNS, "Relationship.Mood"), "unknown column Relationship.Mood"),
     (RELATIONSHIP_COLUMNS[1:], f"no column {RELATIONSHIP_COLUMNS[0]}")],
)  # fmt: skip
def test_a_table_of_another_layout_is_refused(
    tmp_path: Path, columns: Sequence[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read("gleif-rr", [relationships_csv(tmp_path / "rr.csv", [DIRECT], columns)], tmp_path)


def test_xml_of_another_layout_and_xml_that_is_cut_are_refused(tmp_path: Path) -> None:
    path = _xml(tmp_path, [DIRECT] * 3)
    whole = path.read_text()
    path.write_text(whole.replace("</rr:StartNode>", "</rr:StartNode><rr:Mood>good</rr:Mood>"))
    with pytest.raises(
        InputError, match=r"unknown element 'Mood' in Relationship.*layout has changed"
    ):
        read("gleif-rr", [path], tmp_path)

    path.write_text(whole[:-200])
    with pytest.raises(InputError, match=r"rr\.xml: .*; download it again"):
        read("gleif-rr", [path], tmp_path)


def test_published_relationships_are_kept_or_counted(tmp_path: Path) -> None:
    found = read("gleif-rr", [RAW / "gleif" / "rr-golden-copy-subset.csv.zip"], tmp_path)

    assert (found.counts.read, found.counts.kept) == (147, 137)
    assert found.counts.dropped == {"relation répétée": 10}
    assert (found.counts.rejected, found.counts.noted) == ({}, {})
    kinds = found.kept.collect()["nature"].value_counts().sort("nature").rows()
    assert kinds == [("directe", 82), ("succursale", 1), ("ultime", 54)]
    # A company and Thornico, of Denmark.
    assert found.kept.filter(pl.col("lei") == "2138005D9I3VGZDWQQ60").collect().rows() == [
        ("2138005D9I3VGZDWQQ60", "213800L8FME63XZNGL62", kind, "2014-02-19", None)
        for kind in ("directe", "ultime")
    ]
