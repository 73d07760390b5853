"""Objections: in no later build, in no file of changes, and in no generation to go back to is what they name."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import seeds as tables
from pipeline.canonical import Origin
from pipeline.errors import BuildError
from pipeline.publishing import build
from pipeline.stages import objections
from pipeline.stages.objections import FIELDS, Objections, ObjectionsError
from shards.changes import change_file
from shards.changes.forgetting import ERASED
from shards.errors import GenerationError
from shards.generations import change_steps, pointer, publication
from shards.mirror.mirror import MirrorOptions, mirror
from shards.mirror.source_kinds import Folder
from tests.pipeline import builds
from tests.pipeline.builds import accounted, served
from tests.pipeline.rows import company, line, write
from tests.shards.mirror.sources import eager

SEEDS = tables.read()
HEADER = ",".join(objections.COLUMNS)
SECRETS = ("erna@example.org", "0301234567", "Musterweg", "Erna")
ERNA = {"email": SECRETS[0], "telephone": SECRETS[1], "adresse": "Musterweg 7"}


def listed(tmp_path: Path, *lines: str) -> Path:
    file = tmp_path / "objections.csv"
    file.write_text("\n".join([HEADER, *lines, ""]), encoding="utf-8")
    return file


def run(tmp_path: Path, *folders: Path, **options: Any) -> build.BuildResult:
    """Build; no gate is forced: one company of three is a great loss, but not if it objected."""
    return builds.run(tmp_path, *folders, **options)


def published(tmp_path: Path, name: str, **erna: object) -> Path:
    rows = [
        company("EE", "1", "Ä", **erna),
        company("EE", "2", "Erna Blumen"),
        company("EE", "3", name),
    ]
    return write(tmp_path / name, rows, [line("EE", "2", 2020), line("EE", "3", 2020)])


def stored(data: Path) -> bytes:
    """Every byte that a mirror can fetch, unpacked: generations are read by `served`."""
    found = b""
    for folder in change_steps.folders(data):
        step = change_steps.read(folder)
        for iso2 in step.counts:
            changes = change_file.of_step(step, iso2)
            found += repr(list(changes.changes())).encode()
            changes.close()
    return found


def test_an_objection_holds_from_its_build_on_without_its_file(tmp_path: Path) -> None:
    file = listed(tmp_path, "EE,1,email telephone,2026-11-01,L 12,", "EE,2,,2026-11-02,L 13,")
    run(tmp_path, published(tmp_path, "A", **ERNA))

    for name, listing in (("B", file), ("C", None), ("D", None)):
        built = run(tmp_path, published(tmp_path, name, **ERNA), objections=listing)

        rows = {row["id"]: row for row in served(tmp_path, "EE")}
        assert sorted(rows) == ["1", "3"]
        assert (rows["1"]["email"], rows["1"]["telephone"]) == (None, None)
        assert rows["1"]["adresse"] == "Musterweg 7"
        quality = built.pays["EE"]
        assert quality.oppositions == {"email": 1, "société": 1, "telephone": 1}
        assert quality.ecartees == {"opposition d'une personne": 1}
        assert accounted(quality)


def test_an_objection_excuses_the_loss_of_its_own_company_alone(tmp_path: Path) -> None:
    run(tmp_path, published(tmp_path, "A"))
    file = listed(tmp_path, "EE,1,,2026-11-01,L 12,", "EE,2,email,2026-11-02,L 13,")
    rows = [company("EE", "1", "Ä"), company("EE", "2", "Erna Blumen")]

    with pytest.raises(GenerationError, match="EE has 1 companies, the published generation has 3"):
        run(tmp_path, write(tmp_path / "B", rows), objections=file)

    assert [row["id"] for row in served(tmp_path, "EE")] == ["1", "2", "3"]


def test_no_complement_fills_what_was_left_out(tmp_path: Path) -> None:
    file = listed(tmp_path, "EE,1,site_web,2026-11-01,L 12,", "EE,2,,2026-11-02,L 13,")
    own = write(tmp_path / "own", [company("EE", str(n), "Ä") for n in (1, 2, 3)], name="own")
    rows = [company("EE", str(n), "Ä", site_web="https://erna.example") for n in (1, 2, 3)]
    complement = write(tmp_path / "more", rows, name="more", origin=Origin("more", ("EE",)))

    built = run(tmp_path, own, complement, objections=file)

    found = {row["id"]: (row["site_web"], row["domaine"]) for row in served(tmp_path, "EE")}
    assert found == {"1": (None, None), "3": ("https://erna.example", "erna.example")}
    assert built.pays["EE"].ecartees == {"opposition d'une personne": 2}
    assert accounted(built.pays["EE"])


def test_the_history_of_changes_forgets_the_value(tmp_path: Path) -> None:
    """Before, of the step that takes it away, and of those that brought it"""
    data = tmp_path / "data"
    run(tmp_path, published(tmp_path, "A"))
    run(tmp_path, published(tmp_path, "B", **ERNA))
    assert all(text.encode() in stored(data) for text in SECRETS[:3])
    before = {folder.name for folder in change_steps.folders(data)}

    file = listed(
        tmp_path,
        "EE,1,email telephone adresse,2026-11-01,L 12,",
        "EE,2,,2026-11-02,L 13,",
    )
    run(tmp_path, published(tmp_path, "C", **ERNA), objections=file)

    left = stored(data)
    assert not [text for text in SECRETS if text.encode() in left]
    assert ERASED.encode() in left
    folders = change_steps.folders(data)
    assert before < {folder.name for folder in folders}
    for folder in folders:
        change_steps.verify(folder)
    last = change_steps.read(next(f for f in folders if f.name not in before))
    assert last.counts["EE"] == (1, 0, 2)
    changes = change_file.of_step(last, "EE")
    assert [entry for entry in changes.entries("supprimee", 0, 9)] == [b'{"iso2":"EE","id":"2"}']
    assert b'"champs":["adresse","email","telephone"' in changes.entries("modifiee", 0, 9)[0]
    changes.close()


def test_no_older_generation_can_be_published_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    run(tmp_path, published(tmp_path, "A", **ERNA))
    run(
        tmp_path,
        published(tmp_path, "B", **ERNA),
        objections=listed(tmp_path, "EE,1,email,2026-11-01,L,"),
    )

    assert [path.parent.name for path in data.glob("*/manifest.json")] == [
        pointer.current_name(data)
    ]
    with pytest.raises(GenerationError, match="no previous generation"):
        publication.rollback(data)


@pytest.mark.parametrize("dies", [False, True])
def test_a_mirror_forgets_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: bool) -> None:
    """Before: it kept older generations, and made a file of changes with the value itself"""
    source, data = tmp_path / "data", tmp_path / "mirror"
    downloader = eager(Folder(source))
    for name in ("A", "B"):
        run(tmp_path, published(tmp_path, name, **ERNA))
        mirror(downloader, data, MirrorOptions())
    assert pointer.require(data).previous
    file = listed(tmp_path, "EE,1,email telephone adresse,2026-11-01,L 12,", "EE,2,,2026-11-02,L,")
    run(tmp_path, published(tmp_path, "C", **ERNA), objections=file)

    if dies:  # at the moment of publication, once
        monkeypatch.setattr(publication, "keep_published", _die)
        with pytest.raises(KeyboardInterrupt):
            mirror(downloader, data, MirrorOptions())
        monkeypatch.undo()
    mirror(downloader, data, MirrorOptions())

    assert pointer.require(data).kept_generations == (pointer.current_name(source),)
    assert [path.parent.name for path in data.glob("*/manifest.json")] == [
        pointer.current_name(data)
    ]
    assert not [text for text in SECRETS if text.encode() in stored(data)]

    # What comes after is a history again.
    run(tmp_path, published(tmp_path, "D", **ERNA))
    mirror(downloader, data, MirrorOptions())
    assert pointer.require(data).previous
    assert len(change_steps.folders(data)) == 1


def _die(_: Path) -> None:
    raise KeyboardInterrupt


def test_a_withdrawn_objection_is_honoured_no_more(tmp_path: Path) -> None:
    folder = published(tmp_path, "A", **ERNA)
    run(tmp_path, folder, objections=listed(tmp_path, "EE,1,email,2026-11-01,L 12,"))

    run(tmp_path, folder, objections=listed(tmp_path, "EE,1,email,2026-11-01,L 12,2026-12-01"))

    assert {row["id"]: row["email"] for row in served(tmp_path, "EE")}["1"] == SECRETS[0]


def test_a_build_that_has_lost_its_memory_is_refused(tmp_path: Path) -> None:
    folder, data = published(tmp_path, "A", **ERNA), tmp_path / "data"
    file = listed(tmp_path, "EE,1,email,2026-11-01,L 12,")
    run(tmp_path, folder, objections=file)
    kept = data / objections.KEPT
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.unlink()

    with pytest.raises(BuildError, match=r"honours objections, and .* is gone; give their file"):
        run(tmp_path, folder)
    run(tmp_path, folder, objections=file)
    assert kept.exists()


def test_a_new_objection_meets_a_company_of_a_country_that_is_built(tmp_path: Path) -> None:
    folder = published(tmp_path, "A", **ERNA)
    run(tmp_path, folder)
    with pytest.raises(
        BuildError, match="EE has no company '11' in the input; correct its identifiant"
    ):
        run(tmp_path, folder, objections=listed(tmp_path, "EE,11,email,2026-11-01,L 12,"))
    with pytest.raises(BuildError, match="FI has no company '1' in the input"):
        run(tmp_path, folder, objections=listed(tmp_path, "FI,1,,2026-11-01,L 12,"))
    file = listed(tmp_path, "EE,1,email,2026-11-01,L 12,")
    with pytest.raises(
        BuildError, match="a new one is of EE, which stays as published; add EE to --pays"
    ):
        run(tmp_path, folder, objections=file, pays=("FI",))

    run(tmp_path, folder, objections=file)
    gone = write(tmp_path / "gone", [company("EE", "2", "Ä"), company("EE", "3", "Ö")])
    # The register has struck it off: that is no fault of the file, but a loss.
    with pytest.raises(GenerationError, match="EE has 2 companies, the published generation has 3"):
        run(tmp_path, gone)
    built = run(tmp_path, gone, force=True)

    assert built.pays["EE"].oppositions == {}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("XX,1,email,2026-11-01,L,", "line 2: unknown country 'XX'; known: AT, BE"),
        ("EE,1,courriel,2026-11-01,L,", "line 2: unknown field 'courriel'; known: activite"),
        ("EE,1,nom,2026-11-01,L,", r"unknown field 'nom'; .*none stands for the whole company"),
        ("EE,,email,2026-11-01,L,", "line 2: no identifiant"),
        ("EE,1,email,2026-11-01,,", "line 2: no reference"),
        ("EE,1,email,1.11.2026,L,", "line 2: date: '1.11.2026' is no day; write it as 2026-11-01"),
        ("EE,1,email,2026-11-01,L,later", "line 2: retrait: 'later' is no day"),
        ("EE,1", "line 2: the columns are pays,identifiant,champs,date,reference,retrait"),
        ("EE,1,email,2026-11-01,L,,x", "line 2: the columns are"),
    ],
)
def test_what_is_unknown_is_named(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(ObjectionsError, match=message):
        objections.read(listed(tmp_path, row), SEEDS)


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    for content in (None, b"\xff\xfe", b"pays;identifiant\nEE;1\n"):
        file = tmp_path / "o.csv"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(ObjectionsError, match=r"o\.csv"):
            objections.read(file, SEEDS)


ROWS = st.tuples(
    st.sampled_from(["EE", "FR"]),
    st.sampled_from("123"),
    st.lists(st.sampled_from(FIELDS)),
    st.booleans(),
)


@given(rows=st.lists(ROWS, max_size=8))
def test_what_is_kept_is_read_again_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, list[str], bool]]
) -> None:
    """And without a file nothing is new, nothing is lost"""
    folder = tmp_path_factory.mktemp("o")
    lines = [
        f"{a},{b},{' '.join(c)},2026-11-01,L,{'2026-12-01' if d else ''}" for a, b, c, d in rows
    ]
    found = objections.collect(folder, listed(folder, *lines), SEEDS)
    objections.keep(folder, found)

    again = objections.collect(folder, None, SEEDS)

    assert again == Objections(found.known, frozenset())
    for iso2 in ("EE", "FR"):
        assert (
            again.hidden_values(iso2)
            == found.hidden_values(iso2)
            == found.hidden_values(iso2, fresh=True)
        )
