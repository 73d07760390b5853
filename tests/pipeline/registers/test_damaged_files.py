"""Damaged published files: a bad row is rejected by itself, a cut file is refused, and nothing wrong is read."""

import bz2
import gzip
import io
import lzma
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import importing
from pipeline.canonical import InputError
from pipeline.errors import BuildError, excerpt
from pipeline.registers import REGISTERS, csv_rows, file_set, packing
from pipeline.registers.csv_rows import LEFT_OUT, CsvForm, CsvRows, RejectedRow
from tests.pipeline.registers import published
from tests.pipeline.registers.layouts import renumbered
from tests.pipeline.registers.reading import RAW, read


class Published(NamedTuple):
    """A real excerpt: its source, file and member, the separator, and the files beside it."""

    source: str
    file: str
    separator: bytes
    beside: tuple[str, ...] = ()


EXCERPTS: Final = [
    Published("uk-basic", "uk/BasicCompanyData-southyorkshire.zip", b","),
    Published("ee", "ee/ettevotja_rekvisiidid__lihtandmed.csv.zip", b";"),
    Published("lt-jar", "lt/JAR_IREGISTRUOTI.csv", b"|"),
    Published("lv-ur", "lv/register.csv", b";"),
    Published("ie-cro", "ie/companies.csv", b","),
    Published("ro-onrc", "ro/od_firme_5_of_22_columns.csv", b"^"),
    Published("se-bolagsverket", "se/bolagsverket_bulkfil.txt", b";"),
    Published("no-enheter", "no/enheter_2024_54col.csv", b","),
    Published("gleif", "gleif/lei2-names-2025-10.csv", b","),
    Published("fr-ratios", "fr/synthese_bilans_financiers.csv.zip", b","),
    Published("ee-comptes", "ee/ee_elements_slice.csv", b";", ("ee/ee_meta_slice.csv",)),
    Published("lt-comptes", "lt/JAR_FA_RODIKLIAI_PLNA_2022.csv", b","),
]
ROWS: Final = 12


def _lines(published: Published) -> list[bytes]:
    """The header and some rows of an excerpt."""
    for member in packing.members(RAW / published.file, (".csv", ".txt")):
        with member.open() as stream:
            lines = stream.read().splitlines(keepends=True)[: ROWS + 1]
        return lines if len(lines) > 3 else [*lines, *(renumbered(lines[1], n) for n in (1, 2))]
    raise AssertionError(published.file)


def _read(
    published: Published, content: bytes
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    with tempfile.TemporaryDirectory() as folder:
        name = published.file.rpartition("/")[2].removesuffix(".zip")
        file = Path(folder) / (name if "." in name else f"{name}.csv")
        file.write_bytes(content)
        beside = [RAW / path for path in published.beside]
        rows = read(published.source, [file, *beside], Path(folder))
        kept = rows.kept.collect().drop("date_source", strict=False)
        return kept.to_dicts(), rows.rejected.collect().to_dicts()


@pytest.mark.parametrize("published", EXCERPTS, ids=lambda published: published.source)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_row_with_a_field_more_or_less_is_rejected_by_itself(
    published: Published, data: st.DataObject
) -> None:
    lines = _lines(published)
    row = data.draw(st.integers(1, len(lines) - 1))
    separator = published.separator
    if published.source == "se-bolagsverket":
        separator = b'"' + separator + b'"'
    fields = lines[row].rstrip(b"\r\n").split(separator)
    place = data.draw(st.integers(0, len(fields) - 1))
    damaged = data.draw(st.sampled_from(["less", "more"]))
    changed = (
        fields[:place]
        + ([b"x"] if damaged == "more" else [])
        + fields[place + (damaged == "less") :]
    )
    if any(field.count(b'"') % 2 for field in fields) and published.source != "se-bolagsverket":
        return  # a separator within quotes: the fields are others
    content = [*lines[:row], separator.join(changed) + b"\n", *lines[row + 1 :]]
    if published.source == "se-bolagsverket" and place in (0, len(fields) - 1):
        return  # the quote at an end goes with its field

    before, _ = _read(published, b"".join(lines[:row] + lines[row + 1 :]))
    after, rejected = _read(published, b"".join(content))

    assert after == before
    why = csv_rows.TOO_MANY if damaged == "more" else csv_rows.TOO_FEW
    assert (why, row) in {(one["motif"], one["ligne"]) for one in rejected}


@pytest.mark.parametrize("published", EXCERPTS, ids=lambda published: published.source)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_of_a_file_that_is_cut_nothing_wrong_is_read(
    published: Published, data: st.DataObject
) -> None:
    lines = _lines(published)
    whole = b"".join(lines)
    end = data.draw(st.integers(len(lines[0]) + 1, len(whole) - 1))
    rows = whole[:end].count(b"\n")

    try:
        after, _ = _read(published, whole[:end])
    except InputError as error:
        assert "download" in str(error)
    else:
        before, _ = _read(published, b"".join(lines[:rows]))
        more, _ = _read(published, b"".join(lines[: rows + 1]))
        assert after in (before, more)


@pytest.mark.parametrize("published", EXCERPTS, ids=lambda published: published.source)
def test_a_repeated_header_and_totals_are_no_companies(published: Published) -> None:
    lines = _lines(published)
    header = lines[0].rstrip(b"\r\n").removeprefix(b"\xef\xbb\xbf")
    count = header.count(published.separator)
    quote = b'"' if published.source == "se-bolagsverket" else b""
    between = quote + published.separator + quote
    totals = quote + between.join([b"Total"] * 2 + [b"12"] * (count - 1)) + quote + b"\n"
    after = [header + b"\n", totals, b"# generated\n", b"Total\n"]

    before, _ = _read(published, b"".join(lines))
    found, rejected = _read(published, b"".join([*lines[:3], after[0], *lines[3:], *after]))

    assert found == before
    assert [one["motif"] for one in rejected].count(csv_rows.HEADER_AGAIN) == 2


def _csv(text: bytes, form: CsvForm) -> tuple[bytes, list[RejectedRow]]:
    rejected: list[RejectedRow] = []
    rows = CsvRows(io.BytesIO(text), form, rejected.append)
    return b"".join(rows.blocks()), rejected


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (b'"ACME ""X"" LTD";1;2\n', 'ACME "X" LTD'),
        (b'"ACME "X" LTD";1;2\n', 'ACME "X" LTD'),
        (b'"ACME; "X" LTD";1;2\n', 'ACME; "X" LTD'),
        (b'ACME "X" LTD;1;2\n', 'ACME "X" LTD'),
        (b'5" PIPES LTD;1;2\n', '5" PIPES LTD'),
        (b'"5" PIPES LTD";1;2\n', '5" PIPES LTD'),
        (b'"PIPES 5"";1;2\n', 'PIPES 5"'),
        (b'"X" klubas;1;2\n', '"X" klubas'),
        (b'"two\nlines";1;2\n', "two\nlines"),
        ("Café\n".encode("cp1252")[:-1] + b";1;2\n", "Café"),
        (b"\xef\xbb\xbfA;1;2\n", "A"),
    ],
)
def test_quotes_within_a_name_are_kept(row: bytes, name: str) -> None:
    text, rejected = _csv(b"n;a;b\nB;1;2\n" + row + b"C;1;2\n", CsvForm(";", '"', 3))

    names = pl.read_csv(text, separator=";", infer_schema=False)["n"].to_list()
    assert (names, rejected) == (["B", name, "C"], [])


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (b'"ACME LTD;1;2\n', csv_rows.NEVER_CLOSED),
        (b"A\0;1;2\n", csv_rows.NUL),
        (b"A;1\n", csv_rows.TOO_FEW),
        (b'"A;B";1\n', csv_rows.TOO_FEW),
        (b"A;1;2;3\n", csv_rows.TOO_MANY),
        (b"A;1;2;\n", csv_rows.TOO_MANY),
        (b"n;a;b\n", csv_rows.HEADER_AGAIN),
    ],
)
def test_a_damaged_row_is_rejected_and_those_beside_it_are_read(row: bytes, why: str) -> None:
    text, rejected = _csv(b"n;a;b\nB;1;2\n" + row + b"C;1;2\n", CsvForm(";", '"', 3))

    names = pl.read_csv(text, separator=";", infer_schema=False)["n"].to_list()
    assert names == ["B", LEFT_OUT, "C"]
    assert [(one.row, one.reason) for one in rejected] == [(2, why)]
    assert rejected[0].detail.startswith("ligne 3 du fichier : ")


def test_a_separator_at_the_end_of_each_row_is_no_field() -> None:
    text, rejected = _csv(b"n;a\nA;1;\nB;;\n", CsvForm(";", '"', 2))

    frame = pl.read_csv(text, separator=";", infer_schema=False)
    assert (frame.rows(), rejected) == ([("A", "1"), ("B", None)], [])


@pytest.mark.parametrize(
    "pack",
    [
        gzip.compress, bz2.compress, lzma.compress, zstandard.compress,
        lambda text: b"\xff\xfe" + text.decode().encode("utf-16-le"),
        lambda text: text.replace(b"\n", b"\r"),
        lambda text: published.zip_of({"a.csv": text, "__MACOSX/._a.csv": b"\0", ".DS_Store": b"\0"}),
        lambda text: published.zip_of({"in.zip": published.zip_of({"a.csv": text})}),
    ],
)  # fmt: skip
def test_a_packing_is_told_by_its_bytes(tmp_path: Path, pack: Any) -> None:
    text = b"".join(_lines(EXCERPTS[1])).removeprefix(b"\xef\xbb\xbf")
    (tmp_path / "a.csv").write_bytes(text)
    (tmp_path / "b.csv").write_bytes(pack(text))
    for folder in "cd":
        (tmp_path / folder).mkdir()

    plain, packed = (
        read("ee", [tmp_path / name], tmp_path / folder)
        for name, folder in (("a.csv", "c"), ("b.csv", "d"))
    )

    assert packed.kept.collect().equals(plain.kept.collect())


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress])
@pytest.mark.parametrize("damage", [lambda packed: packed[:-9], lambda packed: packed + b"more"])
def test_a_packing_that_is_cut_or_goes_on_is_refused(
    tmp_path: Path, pack: Any, damage: Any
) -> None:
    file = tmp_path / "b.csv"
    file.write_bytes(damage(pack(b"".join(_lines(EXCERPTS[1])))))

    with pytest.raises(InputError, match=r"b\.csv is damaged .*download it again"):
        read("ee", [file], tmp_path)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a-2026-11-01-part1_2.csv"], "part 2 of 2 is missing"),
        (["part1of3.csv", "part3of3.csv"], "part 2 of 3 is missing"),
        (["a-2026-10-01-part1_2.csv", "a-2026-11-01-part2_2.csv"], "two editions"),
        (["a-2026-10-01.csv", "a-2026-11-01.csv"], "two editions"),
        (["lei2-intra-day-20240505.csv"], "changes alone"),
        (["KboOpenData_0127_2024_09_Update.csv"], "changes alone"),
        (["enterprise_insert.csv"], "changes alone"),
        (["actual_2024-05-05_001.json"], "changes alone"),
        (["Zmiany 2024.csv"], "changes alone"),
        (["a\u0308ndringar.csv"], "changes alone"),
        (["20240505-0000-lei2.json", "20240506-0800-lei2.json"], "two editions"),
        (
            ["KboOpenData_0126_2024_08_Full.csv", "KboOpenData_0127_2024_09_Full.csv"],
            "two editions",
        ),
        (["parte1de3.csv", "parte2de3.csv"], "part 3 of 3 is missing"),
        (["register.csv.crdownload"], "a download that has not ended"),
    ],
)
def test_a_set_that_is_not_whole_is_refused(tmp_path: Path, names: list[str], message: str) -> None:
    files = [tmp_path / name for name in names]
    for file in files:
        file.touch()

    with pytest.raises(InputError, match=message):
        file_set.check(files, is_whole=True)


@pytest.mark.parametrize(
    "names",
    [
        ["exchanges.csv"],
        ["Delta Holding.json", "Commune de Delta.json"],
        ["register_last_update_2024-05-05.csv"],
        ["updated.csv"],
        ["KboOpenData_0127_2024_09_Full_with_updates.csv"],
        ["actual_companies.csv"],
        ["odpis_0000413516_2022-03-08.json", "odpis_0000405063_2022-03-09.json"],
        ["StockUniteLegale_utf8.csv", "StockEtablissement_2024-05-05_utf8.csv"],
    ],
)
def test_a_set_that_is_whole_is_in_order(tmp_path: Path, names: list[str]) -> None:
    folder = tmp_path / "delta-updates"
    folder.mkdir()
    for name in names:
        (folder / name).touch()

    file_set.check([folder / name for name in names], is_whole=True)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a.csv", "a (1).csv"),
        ("a.csv", "a(2).csv"),
        ("a (1).csv", "a (2).csv"),
        ("a.csv", "a - Copie.csv"),
        ("a.csv", "a - Copie (2).csv"),
        ("a.csv", "a_copy.csv"),
        ("a.csv", "a copy 2.csv"),
        ("a.csv", "Copie de a.csv"),
        ("a.csv", "Copy (3) of a.csv"),
        ("a.csv", "a.csv~"),
        ("a.csv", "a.csv.1"),
        ("a.csv", "a.csv.bak"),
        ("a.csv", "A.csv.gz"),
        ("a.csv.zip", "a (1).csv.zip"),
        ("a.jsonl.bz2", "a (1).jsonl.bz2"),
        ("a.csv", "older/a.csv"),
        ("2024 - Kopie.json", "2024.json"),
    ],
)
def test_two_copies_of_a_file_are_refused_with_both_their_names(
    tmp_path: Path, first: str, second: str
) -> None:
    files = [tmp_path / first, tmp_path / second]
    for number, file in enumerate(files):
        file.parent.mkdir(exist_ok=True)
        text = b"row\n" * (number + 1)
        text = gzip.compress(text) if file.suffix == ".gz" else text
        text = bz2.compress(text) if file.suffix == ".bz2" else text
        file.write_bytes(published.zip_of({"in.csv": text}) if ".zip" in file.name else text)

    for is_whole in (True, False):
        if is_whole or ("/" not in second and ".gz" not in second):
            with pytest.raises(InputError, match="two copies of one file") as refusal:
                file_set.check(files, is_whole=is_whole)
            assert all(file.name in str(refusal.value) for file in files)


def test_a_file_that_is_given_under_two_names_is_refused(tmp_path: Path) -> None:
    files = {
        "a.csv": b"row\n",
        "b.csv": b"row\n",
        "c.zip": published.zip_of({"in.csv": b"row\n"}),
        "d.zip": published.zip_of({"read me.txt": b"a note", "in.csv": b"row\n"}),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)

    for first, second in (("a.csv", "b.csv"), ("a.csv", "c.zip"), ("c.zip", "d.zip")):
        with pytest.raises(InputError, match=f"{first}.* and .*{second}.* have the same content"):
            file_set.check([tmp_path / first, tmp_path / second], is_whole=True)


def test_parts_answers_and_notes_beside_them_are_no_copies(tmp_path: Path) -> None:
    files = {
        "a-part1_2.zip": published.zip_of({"readme.txt": b"a note", "a-part1_2.csv": b"row 1\n"}),
        "a-part2_2.zip": published.zip_of({"readme.txt": b"a note", "a-part2_2.csv": b"row 2\n"}),
        "1/odpis.json": b"{}",
        "2/odpis.json": b"[]",
        "Photocopy (1).csv": b"row 3\n",
        "Photo.csv": b"row 4\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)

    file_set.check([tmp_path / name for name in files], is_whole=True)


def test_tables_of_one_kind_are_of_one_day_however_they_are_named(tmp_path: Path) -> None:
    lines = _lines(EXCERPTS[0])
    files = [
        tmp_path / name
        for name in (
            "BasicCompanyDataAsOneFile-2026-10-01.csv",
            "BasicCompanyData-2026-11-01-part1_1.csv",
        )
    ]
    for number, file in enumerate(files, start=2):
        file.write_bytes(b"".join(lines[:number]))

    with pytest.raises(InputError, match="two editions of one file"):
        importing.run("uk-basic", files, tmp_path / "out")


@pytest.mark.parametrize("content", ["GLEIF_DELTA_PUBLISHED", "QUERY_RESPONSE"])
def test_gleif_files_say_in_their_heads_that_they_are_changes_or_a_part(
    tmp_path: Path, content: str
) -> None:
    head = f"<h><FileContent>{content}</FileContent><RecordCount>1</RecordCount></h>"
    file = tmp_path / "a.xml"
    for source, record in (("gleif", "LEIRecord"), ("gleif-rr", "RelationshipRecord")):
        file.write_text(f"<a>{head}<{record}></{record}></a>")

        with pytest.raises(InputError, match="has changes or a part alone, by its head"):
            REGISTERS[source].read([file], tmp_path)


def test_filings_of_several_days_and_whole_sets_are_in_order(tmp_path: Path) -> None:
    names = ["a-2026-11-01-part1_2.csv", "a-2026-11-01-part2_2.csv", "b-2022_2023.csv"]
    files = [tmp_path / name for name in (*names, "a-2026-10-02.csv")]
    for file in files:
        file.touch()

    file_set.check(files[:3], is_whole=True)
    file_set.check([files[2], files[3]], is_whole=False)


def test_a_message_is_short_and_printable() -> None:
    message = str(BuildError(f"unknown column {'a' * 9_000}\0; give another file"))

    assert len(message) <= 1_001
    assert message.isprintable()
    assert message.endswith("give another file")
    assert excerpt("é" * 500) == "é" * 120 + "…"
