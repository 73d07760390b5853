"""Groups in a build: of the whole input, kept by a build of some countries, and verified."""

from pathlib import Path

import polars as pl

from pipeline import importing
from pipeline.canonical import RELATIONS
from pipeline.registers.lei_relationships import RelationshipRecord
from shards.generations import generation_files, groups, pointer
from shards.generations.groups import GROUP_SOURCES, GROUPS
from shards.verify.invariants import verify
from tests.pipeline.builds import run
from tests.pipeline.registers.published import relationships_xml
from tests.pipeline.rows import company, write
from tests.world import lei

CHILD = lei(1)
RECORD = RelationshipRecord(
    CHILD, "LEI", lei(2), "LEI", "IS_DIRECTLY_CONSOLIDATED_BY", "ACTIVE", "PUBLISHED",
    [("2021-04-12T08:00:00+02:00", "", "RELATIONSHIP_PERIOD")],
)  # fmt: skip


def _published(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    return data / str(pointer.current_name(data))


def test_a_build_of_one_country_keeps_the_groups_and_a_whole_one_has_those_of_its_input(
    tmp_path: Path,
) -> None:
    rows = [company("SK", "1", "Dcéra, a.s.", lei=CHILD), company("EE", "1", "Õ")]
    own = write(tmp_path / "own", rows)
    file = relationships_xml(tmp_path / "rr.xml", "2023-11-06", [RECORD])
    importing.run("gleif-rr", [file], tmp_path / "rr")

    run(tmp_path, own, tmp_path / "rr")
    first = _published(tmp_path)
    [parent] = groups.read(first / GROUPS).parents(CHILD)
    bytes_of = {name: (first / name).read_bytes() for name in (GROUPS, GROUP_SOURCES)}
    run(tmp_path, write(tmp_path / "new", [company("EE", "1", "Ä")]), pays=("EE",))
    kept = _published(tmp_path)
    kept_bytes = {name: (kept / name).read_bytes() for name in bytes_of}
    with generation_files.load(tmp_path / "data", kept.name) as generation:
        verify(generation)
    run(tmp_path, own)
    without = _published(tmp_path)

    assert (parent.nature, parent.debut) == ("directe", "2021-04-12")
    assert kept != first
    assert kept_bytes == bytes_of
    assert not any((without / name).exists() for name in bytes_of)


def test_a_relationship_that_cannot_be_is_left_out_and_an_odd_day_is_unknown(
    tmp_path: Path,
) -> None:
    rows = [
        (CHILD, lei(2), "directe", "2021-04-12", None),
        (CHILD, lei(3), "ultime", "0001-01-01", "9999-12-31"),
        (CHILD, lei(4), "succursale", "2020-02-30", " "),
        (CHILD, lei(5), "voisine", None, None),
        (CHILD, CHILD, "directe", None, None),
        (None, lei(2), "directe", None, None),
        ("é" * 20, lei(2), "directe", None, None),
        (CHILD, f"{lei(2)}0", None, "n/a", "2020"),
    ]
    own = write(tmp_path / "own", [company("SK", "1", "Dcéra, a.s.", lei=CHILD)])
    (own / "relations").mkdir()
    frame = pl.DataFrame(rows, schema=dict(RELATIONS), orient="row")
    frame.write_parquet(own / "relations" / "a.parquet")

    built = run(tmp_path, own)

    found = list(groups.read(_published(tmp_path) / GROUPS).parents(CHILD))
    assert [(r.parent, r.nature, r.debut, r.fin) for r in found] == [
        (lei(2), "directe", "2021-04-12", None),
        (lei(3), "ultime", None, None),
        (lei(4), "succursale", None, None),
    ]
    assert built.hors_pays.valeurs_ecartees == {
        "LEI mal formé": 3,
        "date impossible (debut)": 2,
        "date impossible (fin)": 1,
        "nature de relation inconnue": 1,
        "relation avec soi-même": 1,
    }
