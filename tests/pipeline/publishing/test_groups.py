"""Groups of companies in a build: they come from the whole input, and a build of some countries keeps them."""

from pathlib import Path

import polars as pl

from pipeline import importing
from pipeline.canonical import RELATIONS
from pipeline.registers.lei_relationships import RelationshipRecord
from shards.generations import generation_files, groups, pointer
from shards.generations.groups import GROUP_SOURCES, GROUPS
from shards.verify.invariants import verify
from tests.pipeline.builds import run_build
from tests.pipeline.registers.published import relationships_xml
from tests.pipeline.rows import company, write_input
from tests.world import lei

CHILD = lei(1)
PARENT_RECORD = RelationshipRecord(
    CHILD, "LEI", lei(2), "LEI", "IS_DIRECTLY_CONSOLIDATED_BY", "ACTIVE", "PUBLISHED",
    [("2021-04-12T08:00:00+02:00", "", "RELATIONSHIP_PERIOD")],
)  # fmt: skip


def _published_folder(tmp_path: Path) -> Path:
    """The folder of the published generation."""
    data = tmp_path / "data"
    return data / str(pointer.current_name(data))


def test_a_build_of_one_country_keeps_the_groups_and_a_full_build_replaces_them(
    tmp_path: Path,
) -> None:
    """The groups are the relationships of the LEI data; the last full build has none in its input, so none remain."""
    rows = [company("SK", "1", "Dcéra, a.s.", lei=CHILD), company("EE", "1", "Õ")]
    companies = write_input(tmp_path / "own", rows)
    file = relationships_xml(tmp_path / "rr.xml", "2023-11-06", [PARENT_RECORD])
    importing.run("gleif-rr", [file], tmp_path / "rr")

    run_build(tmp_path, companies, tmp_path / "rr")
    first_build = _published_folder(tmp_path)
    [parent] = groups.read(first_build / GROUPS).parents(CHILD)
    bytes_before = {name: (first_build / name).read_bytes() for name in (GROUPS, GROUP_SOURCES)}
    run_build(tmp_path, write_input(tmp_path / "new", [company("EE", "1", "Ä")]), pays=("EE",))
    partial_build = _published_folder(tmp_path)
    bytes_after = {name: (partial_build / name).read_bytes() for name in bytes_before}
    with generation_files.load(tmp_path / "data", partial_build.name) as generation:
        verify(generation)
    run_build(tmp_path, companies)
    full_build = _published_folder(tmp_path)

    assert (parent.nature, parent.debut) == ("directe", "2021-04-12")
    assert partial_build != first_build
    assert bytes_after == bytes_before
    assert not any((full_build / name).exists() for name in bytes_before)


def test_an_impossible_relationship_is_left_out_and_an_impossible_day_is_null(
    tmp_path: Path,
) -> None:
    rows = [
        (CHILD, lei(2), "directe", "2021-04-12", None),
        (CHILD, lei(3), "ultime", "0001-01-01", "9999-12-31"),
        (CHILD, lei(4), "succursale", "2020-02-30", " "),
        # Left out: an unknown nature, a company of itself, a missing LEI, and LEIs of a wrong form.
        (CHILD, lei(5), "voisine", None, None),
        (CHILD, CHILD, "directe", None, None),
        (None, lei(2), "directe", None, None),
        ("é" * 20, lei(2), "directe", None, None),
        (CHILD, f"{lei(2)}0", None, "n/a", "2020"),
    ]
    companies = write_input(tmp_path / "own", [company("SK", "1", "Dcéra, a.s.", lei=CHILD)])
    (companies / "relations").mkdir()
    frame = pl.DataFrame(rows, schema=dict(RELATIONS), orient="row")
    frame.write_parquet(companies / "relations" / "a.parquet")

    built = run_build(tmp_path, companies)

    parents = list(groups.read(_published_folder(tmp_path) / GROUPS).parents(CHILD))
    assert [(parent.parent, parent.nature, parent.debut, parent.fin) for parent in parents] == [
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
