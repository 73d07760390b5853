"""Objections: no later build, file of changes or older generation contains the hidden values."""

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
from shards.generations.change_steps import ChangeCounts
from shards.mirror.mirror import MirrorOptions, mirror
from shards.mirror.source_kinds import Folder
from tests.pipeline import builds
from tests.pipeline.builds import counts_add_up, published_companies
from tests.pipeline.rows import company, statement_line, write_input
from tests.shards.mirror.sources import eager_downloader

SEEDS = tables.read()
HEADER = ",".join(objections.COLUMNS)
# Texts about a person that must not remain anywhere after an objection.
SECRETS = ("erna@example.org", "0301234567", "Musterweg", "Erna")
ERNA_FIELDS = {"email": SECRETS[0], "telephone": SECRETS[1], "adresse": "Musterweg 7"}


def write_objections(tmp_path: Path, *lines: str) -> Path:
    """A file of objections; the columns of a line are country, id, fields, date, reference and withdrawal."""
    file = tmp_path / "objections.csv"
    file.write_text("\n".join([HEADER, *lines, ""]), encoding="utf-8")
    return file


def build_unforced(tmp_path: Path, *folders: Path, **options: Any) -> build.BuildResult:
    """Build without --force: a gate refuses the loss of one company of three, unless it is an objection."""
    return builds.run_build(tmp_path, *folders, **options)


def write_three_companies(tmp_path: Path, name: str, **fields: object) -> Path:
    """An input folder of three companies: the first has these fields, the third is called `name`."""
    rows = [
        company("EE", "1", "Ä", **fields),
        company("EE", "2", "Erna Blumen"),
        company("EE", "3", name),
    ]
    return write_input(
        tmp_path / name, rows, [statement_line("EE", "2", 2020), statement_line("EE", "3", 2020)]
    )


def unpacked_bytes(data: Path) -> bytes:
    """All changes between generations that a mirror can fetch, unpacked, to search them for texts of a person."""
    result = b""
    for folder in change_steps.folders(data):
        step = change_steps.read(folder)
        for iso2 in step.counts:
            changes = change_file.open_step(step, iso2)
            result += repr(list(changes.changes())).encode()
            changes.close()
    return result


def test_an_objection_applies_to_later_builds_without_its_file(tmp_path: Path) -> None:
    file = write_objections(
        tmp_path, "EE,1,email telephone,2026-11-01,L 12,", "EE,2,,2026-11-02,L 13,"
    )
    build_unforced(tmp_path, write_three_companies(tmp_path, "A", **ERNA_FIELDS))

    for name, listing in (("B", file), ("C", None), ("D", None)):
        built = build_unforced(
            tmp_path, write_three_companies(tmp_path, name, **ERNA_FIELDS), objections=listing
        )

        rows = {row["id"]: row for row in published_companies(tmp_path, "EE")}
        assert sorted(rows) == ["1", "3"]
        assert (rows["1"]["email"], rows["1"]["telephone"]) == (None, None)
        assert rows["1"]["adresse"] == "Musterweg 7"
        quality = built.pays["EE"]
        assert quality.oppositions == {"email": 1, "société": 1, "telephone": 1}
        assert quality.ecartees == {"opposition d'une personne": 1}
        assert counts_add_up(quality)


def test_an_objection_opens_the_gate_for_the_loss_of_its_own_company_alone(tmp_path: Path) -> None:
    build_unforced(tmp_path, write_three_companies(tmp_path, "A"))
    file = write_objections(tmp_path, "EE,1,,2026-11-01,L 12,", "EE,2,email,2026-11-02,L 13,")
    rows = [company("EE", "1", "Ä"), company("EE", "2", "Erna Blumen")]

    with pytest.raises(GenerationError, match="EE has 1 companies, the published generation has 3"):
        build_unforced(tmp_path, write_input(tmp_path / "B", rows), objections=file)

    assert [row["id"] for row in published_companies(tmp_path, "EE")] == ["1", "2", "3"]


def test_a_complement_does_not_fill_a_field_or_company_that_an_objection_hides(
    tmp_path: Path,
) -> None:
    file = write_objections(tmp_path, "EE,1,site_web,2026-11-01,L 12,", "EE,2,,2026-11-02,L 13,")
    register = write_input(
        tmp_path / "own", [company("EE", str(number), "Ä") for number in (1, 2, 3)], name="own"
    )
    rows = [
        company("EE", str(number), "Ä", site_web="https://erna.example") for number in (1, 2, 3)
    ]
    complement = write_input(tmp_path / "more", rows, name="more", origin=Origin("more", ("EE",)))

    built = build_unforced(tmp_path, register, complement, objections=file)

    by_id = {
        row["id"]: (row["site_web"], row["domaine"]) for row in published_companies(tmp_path, "EE")
    }
    assert by_id == {"1": (None, None), "3": ("https://erna.example", "erna.example")}
    assert built.pays["EE"].ecartees == {"opposition d'une personne": 2}
    assert counts_add_up(built.pays["EE"])


def test_the_history_of_changes_forgets_the_value(tmp_path: Path) -> None:
    """The hidden value is erased from the step that removes it and from the steps that added it."""
    data = tmp_path / "data"
    build_unforced(tmp_path, write_three_companies(tmp_path, "A"))
    build_unforced(tmp_path, write_three_companies(tmp_path, "B", **ERNA_FIELDS))
    assert all(text.encode() in unpacked_bytes(data) for text in SECRETS[:3])
    before = {folder.name for folder in change_steps.folders(data)}

    file = write_objections(
        tmp_path,
        "EE,1,email telephone adresse,2026-11-01,L 12,",
        "EE,2,,2026-11-02,L 13,",
    )
    build_unforced(tmp_path, write_three_companies(tmp_path, "C", **ERNA_FIELDS), objections=file)

    content = unpacked_bytes(data)
    assert not [text for text in SECRETS if text.encode() in content]
    assert ERASED.encode() in content
    folders = change_steps.folders(data)
    assert before < {folder.name for folder in folders}
    for folder in folders:
        change_steps.verify(folder)
    last_step = change_steps.read(next(folder for folder in folders if folder.name not in before))
    # Company 2 is deleted; company 1 loses fields, and company 3 has another name.
    assert last_step.counts["EE"] == ChangeCounts(supprimees=1, creees=0, modifiees=2)
    changes = change_file.open_step(last_step, "EE")
    assert [entry for entry in changes.entries("supprimee", 0, 9)] == [b'{"iso2":"EE","id":"2"}']
    assert b'"champs":["adresse","email","telephone"' in changes.entries("modifiee", 0, 9)[0]
    changes.close()


def test_a_build_with_an_objection_deletes_the_older_generations(tmp_path: Path) -> None:
    data = tmp_path / "data"
    build_unforced(tmp_path, write_three_companies(tmp_path, "A", **ERNA_FIELDS))
    build_unforced(
        tmp_path,
        write_three_companies(tmp_path, "B", **ERNA_FIELDS),
        objections=write_objections(tmp_path, "EE,1,email,2026-11-01,L,"),
    )

    assert [path.parent.name for path in data.glob("*/manifest.json")] == [
        pointer.current_name(data)
    ]
    with pytest.raises(GenerationError, match="no previous generation"):
        publication.rollback(data)


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_mirror_deletes_older_generations_and_values_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_interrupted: bool
) -> None:
    """Fixed: a mirror kept older generations, and made a file of changes with the value."""
    source, data = tmp_path / "data", tmp_path / "mirror"
    downloader = eager_downloader(Folder(source))
    for name in ("A", "B"):
        build_unforced(tmp_path, write_three_companies(tmp_path, name, **ERNA_FIELDS))
        mirror(downloader, data, MirrorOptions())
    assert pointer.require(data).previous
    file = write_objections(
        tmp_path, "EE,1,email telephone adresse,2026-11-01,L 12,", "EE,2,,2026-11-02,L,"
    )
    build_unforced(tmp_path, write_three_companies(tmp_path, "C", **ERNA_FIELDS), objections=file)

    if is_interrupted:  # once, during the publication
        monkeypatch.setattr(publication, "keep_published", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            mirror(downloader, data, MirrorOptions())
        monkeypatch.undo()
    mirror(downloader, data, MirrorOptions())

    assert pointer.require(data).generations == (pointer.current_name(source),)
    assert [path.parent.name for path in data.glob("*/manifest.json")] == [
        pointer.current_name(data)
    ]
    assert not [text for text in SECRETS if text.encode() in unpacked_bytes(data)]

    # Later changes are recorded again.
    build_unforced(tmp_path, write_three_companies(tmp_path, "D", **ERNA_FIELDS))
    mirror(downloader, data, MirrorOptions())
    assert pointer.require(data).previous
    assert len(change_steps.folders(data)) == 1


def _interrupt(_: Path) -> None:
    """Raise the error of a process that a user interrupts."""
    raise KeyboardInterrupt


def test_a_withdrawn_objection_is_no_longer_honoured(tmp_path: Path) -> None:
    folder = write_three_companies(tmp_path, "A", **ERNA_FIELDS)
    build_unforced(
        tmp_path, folder, objections=write_objections(tmp_path, "EE,1,email,2026-11-01,L 12,")
    )

    build_unforced(
        tmp_path,
        folder,
        objections=write_objections(tmp_path, "EE,1,email,2026-11-01,L 12,2026-12-01"),
    )

    emails = {row["id"]: row["email"] for row in published_companies(tmp_path, "EE")}
    assert emails["1"] == ERNA_FIELDS["email"]


def test_a_build_without_its_stored_objections_is_refused(tmp_path: Path) -> None:
    folder, data = write_three_companies(tmp_path, "A", **ERNA_FIELDS), tmp_path / "data"
    file = write_objections(tmp_path, "EE,1,email,2026-11-01,L 12,")
    build_unforced(tmp_path, folder, objections=file)
    stored_file = data / objections.STORED_FILE
    assert stored_file.stat().st_mode & 0o777 == 0o600
    stored_file.unlink()

    with pytest.raises(BuildError, match=r"honours objections, and .* is gone; give their file"):
        build_unforced(tmp_path, folder)
    build_unforced(tmp_path, folder, objections=file)
    assert stored_file.exists()


def test_a_new_objection_must_name_a_company_of_a_built_country(tmp_path: Path) -> None:
    folder = write_three_companies(tmp_path, "A", **ERNA_FIELDS)
    build_unforced(tmp_path, folder)
    with pytest.raises(
        BuildError, match="EE has no company '11' in the input; correct its identifiant"
    ):
        build_unforced(
            tmp_path, folder, objections=write_objections(tmp_path, "EE,11,email,2026-11-01,L 12,")
        )
    with pytest.raises(BuildError, match="FI has no company '1' in the input"):
        build_unforced(
            tmp_path, folder, objections=write_objections(tmp_path, "FI,1,,2026-11-01,L 12,")
        )
    file = write_objections(tmp_path, "EE,1,email,2026-11-01,L 12,")
    with pytest.raises(
        BuildError, match="a new one is of EE, which stays as published; add EE to --pays"
    ):
        build_unforced(tmp_path, folder, objections=file, pays=("FI",))

    build_unforced(tmp_path, folder, objections=file)
    gone = write_input(tmp_path / "gone", [company("EE", "2", "Ä"), company("EE", "3", "Ö")])
    # The register has removed the company of the objection. The loss of a company closes a gate (a condition of
    # publication), which `force` opens; the objection, which then applies to no company, is not an error.
    with pytest.raises(GenerationError, match="EE has 2 companies, the published generation has 3"):
        build_unforced(tmp_path, gone)
    built = build_unforced(tmp_path, gone, force=True)

    assert built.pays["EE"].oppositions == {}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("XX,1,email,2026-11-01,L,", "line 2: unknown country 'XX'; known: AT, BE"),
        ("EE,1,courriel,2026-11-01,L,", "line 2: unknown field 'courriel'; known: activite"),
        ("EE,1,nom,2026-11-01,L,", r"unknown field 'nom'; .*no field means the whole company"),
        ("EE,,email,2026-11-01,L,", "line 2: no identifiant"),
        ("EE,1,email,2026-11-01,,", "line 2: no reference"),
        (
            "EE,1,email,1.11.2026,L,",
            "line 2: date: '1.11.2026' is not a day; write it as 2026-11-01",
        ),
        ("EE,1,email,2026-11-01,L,later", "line 2: retrait: 'later' is not a day"),
        ("EE,1", "line 2: the columns are pays,identifiant,champs,date,reference,retrait"),
        ("EE,1,email,2026-11-01,L,,x", "line 2: the columns are"),
    ],
)
def test_a_faulty_line_of_objections_is_named(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(ObjectionsError, match=message):
        objections.read(write_objections(tmp_path, row), SEEDS)


def test_a_file_that_is_not_a_csv_is_named(tmp_path: Path) -> None:
    for content in (None, b"\xff\xfe", b"pays;identifiant\nEE;1\n"):
        file = tmp_path / "o.csv"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(ObjectionsError, match=r"o\.csv"):
            objections.read(file, SEEDS)


# An objection, by which a person has fields or a company removed: country, id, fields (none: the whole company), and
# whether the objection is withdrawn.
ANY_OBJECTION = st.tuples(
    st.sampled_from(["EE", "FR"]),
    st.sampled_from("123"),
    st.lists(st.sampled_from(FIELDS)),
    st.booleans(),
)


@given(rows=st.lists(ANY_OBJECTION, max_size=8))
def test_stored_objections_are_read_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, list[str], bool]]
) -> None:
    """Without a file, no objection is new and none is lost."""
    folder = tmp_path_factory.mktemp("o")
    lines = [
        f"{iso2},{identifier},{' '.join(fields)},2026-11-01,L,{'2026-12-01' if is_withdrawn else ''}"
        for iso2, identifier, fields, is_withdrawn in rows
    ]
    objections_read = objections.collect(folder, write_objections(folder, *lines), SEEDS)
    objections.keep(folder, objections_read)

    stored_objections = objections.collect(folder, None, SEEDS)

    assert stored_objections == Objections(objections_read.entries, frozenset())
    for iso2 in ("EE", "FR"):
        assert (
            stored_objections.hidden_values(iso2)
            == objections_read.hidden_values(iso2)
            == objections_read.hidden_values(iso2, fresh=True)
        )
