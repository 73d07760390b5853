"""Damaged published files: a bad row is rejected alone, a cut file is refused, and no wrong value is read."""

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
from pipeline.registers import REGISTERS, csv_rows, file_set, packing, record_stream
from pipeline.registers.csv_rows import LEFT_OUT, CsvForm, CsvRows, RejectedRow
from tests.pipeline.registers import published
from tests.pipeline.registers.layouts import renumbered
from tests.pipeline.registers.reading import RAW, read


class RegisterExcerpt(NamedTuple):
    """A real excerpt: its source, its file, the separator, and the files that are read with it."""

    source: str
    file: str
    separator: bytes
    joined_files: tuple[str, ...] = ()


EXCERPTS: Final = [
    RegisterExcerpt("uk-basic", "uk/BasicCompanyData-southyorkshire.zip", b","),
    RegisterExcerpt("ee", "ee/ettevotja_rekvisiidid__lihtandmed.csv.zip", b";"),
    RegisterExcerpt("lt-jar", "lt/JAR_IREGISTRUOTI.csv", b"|"),
    RegisterExcerpt("lv-ur", "lv/register.csv", b";"),
    RegisterExcerpt("ie-cro", "ie/companies.csv", b","),
    RegisterExcerpt("ro-onrc", "ro/od_firme_5_of_22_columns.csv", b"^"),
    RegisterExcerpt("se-bolagsverket", "se/bolagsverket_bulkfil.txt", b";"),
    RegisterExcerpt("no-enheter", "no/enheter_2024_54col.csv", b","),
    RegisterExcerpt("gleif", "gleif/lei2-names-2025-10.csv", b","),
    RegisterExcerpt("fr-ratios", "fr/synthese_bilans_financiers.csv.zip", b","),
    RegisterExcerpt("ee-comptes", "ee/ee_elements_slice.csv", b";", ("ee/ee_meta_slice.csv",)),
    RegisterExcerpt("lt-comptes", "lt/JAR_FA_RODIKLIAI_PLNA_2022.csv", b","),
]
MOST_ROWS: Final = 12  # the rows of an excerpt that the tests use, at most


def _header_and_rows(published: RegisterExcerpt) -> list[bytes]:
    """The header and the first rows of an excerpt; if it has fewer than three, its first row twice renumbered."""
    for member in packing.members(RAW / published.file, (".csv", ".txt")):
        with member.open() as stream:
            lines = stream.read().splitlines(keepends=True)[: MOST_ROWS + 1]
        return (
            lines
            if len(lines) > 3
            else [*lines, *(renumbered(lines[1], number) for number in (1, 2))]
        )
    raise AssertionError(published.file)


def _kept_and_rejected(
    published: RegisterExcerpt, content: bytes
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The kept and the rejected rows of `content`, read in place of the file of the excerpt."""
    with tempfile.TemporaryDirectory() as folder:
        name = published.file.rpartition("/")[2].removesuffix(".zip")
        file = Path(folder) / (name if "." in name else f"{name}.csv")
        file.write_bytes(content)
        joined_files = [RAW / path for path in published.joined_files]
        reading = read(published.source, [file, *joined_files], Path(folder))
        kept_rows = reading.kept.collect().drop("date_source", strict=False)
        return kept_rows.to_dicts(), reading.rejected.collect().to_dicts()


@pytest.mark.parametrize("published", EXCERPTS, ids=lambda published: published.source)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_row_with_a_field_more_or_less_is_rejected_by_itself(
    published: RegisterExcerpt, data: st.DataObject
) -> None:
    """All other rows are kept, as if the file did not have the damaged row."""
    lines = _header_and_rows(published)
    row = data.draw(st.integers(1, len(lines) - 1))
    separator = published.separator
    if published.source == "se-bolagsverket":  # every field of this file is quoted
        separator = b'"' + separator + b'"'
    fields = lines[row].rstrip(b"\r\n").split(separator)
    column = data.draw(st.integers(0, len(fields) - 1))
    damage = data.draw(st.sampled_from(["less", "more"]))
    damaged_fields = (
        fields[:column]
        + ([b"x"] if damage == "more" else [])
        + fields[column + (damage == "less") :]
    )
    if any(field.count(b'"') % 2 for field in fields) and published.source != "se-bolagsverket":
        return  # a quoted field contains the separator, so `fields` are not the fields
    content = [*lines[:row], separator.join(damaged_fields) + b"\n", *lines[row + 1 :]]
    if published.source == "se-bolagsverket" and column in (0, len(fields) - 1):
        return  # without its first or last field, the row also lacks a quote

    expected, _ = _kept_and_rejected(published, b"".join(lines[:row] + lines[row + 1 :]))
    result, rejected = _kept_and_rejected(published, b"".join(content))

    assert result == expected
    reason = csv_rows.TOO_MANY if damage == "more" else csv_rows.TOO_FEW
    assert (reason, row) in {(entry["motif"], entry["ligne"]) for entry in rejected}


@pytest.mark.parametrize("published", EXCERPTS, ids=lambda published: published.source)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_no_wrong_value_is_read_from_a_cut_file(
    published: RegisterExcerpt, data: st.DataObject
) -> None:
    lines = _header_and_rows(published)
    content = b"".join(lines)
    end = data.draw(st.integers(len(lines[0]) + 1, len(content) - 1))
    complete_lines = content[:end].count(b"\n")

    try:
        result, _ = _kept_and_rejected(published, content[:end])
    except InputError as error:
        assert "download" in str(error)
    else:
        # The cut row is left out, or read if only its line end is missing. A header alone is refused.
        line_counts = [
            line_count for line_count in (complete_lines, complete_lines + 1) if line_count > 1
        ]
        assert result in [
            _kept_and_rejected(published, b"".join(lines[:line_count]))[0]
            for line_count in line_counts
        ]


@pytest.mark.parametrize("published", EXCERPTS, ids=lambda published: published.source)
def test_a_repeated_header_and_totals_are_no_companies(published: RegisterExcerpt) -> None:
    lines = _header_and_rows(published)
    header = lines[0].rstrip(b"\r\n").removeprefix(b"\xef\xbb\xbf")
    separator_count = header.count(published.separator)
    # Every field of the Swedish file is quoted.
    quote = b'"' if published.source == "se-bolagsverket" else b""
    delimiter = quote + published.separator + quote
    totals = (
        quote + delimiter.join([b"Total"] * 2 + [b"12"] * (separator_count - 1)) + quote + b"\n"
    )
    lines_at_end = [header + b"\n", totals, b"# generated\n", b"Total\n"]

    expected, _ = _kept_and_rejected(published, b"".join(lines))
    result, rejected = _kept_and_rejected(
        published, b"".join([*lines[:3], lines_at_end[0], *lines[3:], *lines_at_end])
    )

    assert result == expected
    assert [row["motif"] for row in rejected].count(csv_rows.HEADER_AGAIN) == 2  # inserted twice


def _text_and_rejected(text: bytes, form: CsvForm) -> tuple[bytes, list[RejectedRow]]:
    """The text that CsvRows passes on, and the rows that it rejects."""
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
        (b"\xef\xbb\xbfA;1;2\n", "A"),
        (b"A\x1fB\x1e;1;2\n", "A B "),
        (b"\x1e;1;2\n", " "),
    ],
)
def test_a_name_keeps_its_quotes_line_ends_and_letters(row: bytes, name: str) -> None:
    text, rejected = _text_and_rejected(b"n;a;b\nB;1;2\n" + row + b"C;1;2\n", CsvForm(";", '"', 3))

    names = pl.read_csv(text, separator=";", infer_schema=False)["n"].to_list()
    assert (names, rejected) == (["B", name, "C"], [])


@pytest.mark.parametrize(
    ("row", "expected_reason"),
    [
        (b'"ACME LTD;1;2\n', csv_rows.NEVER_CLOSED),
        (b"A\0;1;2\n", csv_rows.NUL),
        (b"A;1\n", csv_rows.TOO_FEW),
        (b'"A;B";1\n', csv_rows.TOO_FEW),
        (b"A;1;2;3\n", csv_rows.TOO_MANY),
        (b"A;1;2;\n", csv_rows.TOO_MANY),
        (b"n;a;b\n", csv_rows.HEADER_AGAIN),
        (b"\xd8e\xf8icha;1;2\n", csv_rows.NOT_UTF8),
        ("Õunapuu Äri".encode() + b"\xff;1;2\n", csv_rows.NOT_UTF8),
        (b'"two\nCaf\xc3";1;2\n', csv_rows.NOT_UTF8),
    ],
)
def test_a_damaged_row_is_rejected_and_the_rows_around_it_are_read(
    row: bytes, expected_reason: str
) -> None:
    text, rejected = _text_and_rejected(b"n;a;b\nB;1;2\n" + row + b"C;1;2\n", CsvForm(";", '"', 3))

    names = pl.read_csv(text, separator=";", infer_schema=False)["n"].to_list()
    assert names == ["B", LEFT_OUT, "C"]
    assert [(entry.row, entry.reason) for entry in rejected] == [(2, expected_reason)]
    assert rejected[0].detail.startswith("ligne 3 du fichier : ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (b"Caf\xe9 \x93\xc9lan\x94", "Café “Élan”"),
        ("Café 5".encode(), "Café 5"),
        ("Café ".encode() + b"\xe9", None),  # damaged UTF-8
        (b"Caf\xe9 \x81", None),  # Windows-1252 does not have this byte
    ],
)
def test_a_line_is_read_in_the_legacy_encoding_only_if_it_is_not_damaged_utf_8(
    name: bytes, text: str | None
) -> None:
    written, rejected = _text_and_rejected(
        b"n;a;b\n" + name + b";1;2\n", CsvForm(";", '"', 3, legacy_encoding="cp1252")
    )

    row = f"{text};1;2" if text else f"{LEFT_OUT};;"
    assert written.decode() == f"n;a;b\n{row}\n"
    assert [row.reason for row in rejected] == ([] if text else [csv_rows.NOT_UTF8])


def test_a_header_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    for source, header in (("fr-egapro", "Année;SIREN"), ("gleif-rr", "Année,LEI")):
        file = tmp_path / f"{source}.csv"
        file.write_bytes(f"{header}\n2024\n".encode("cp1252"))

        with pytest.raises(InputError, match="line is not UTF-8"):
            REGISTERS[source].read([file], tmp_path)


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (b'"STRAY;1;2\nD;1;2\nE;1;2\nF";1;2\n', ["B", LEFT_OUT, "D", "E", 'F"', "C"]),
        (b'"STRAY;1;2\nF";1;2\n', ["B", LEFT_OUT, 'F"', "C"]),
        (b'S;"STRAY;2\nF;1";2\n', ["B", LEFT_OUT, "F", "C"]),
        (b'S;1;"STRAY\nF;1;2"\n', ["B", LEFT_OUT, "F", "C"]),
        (b'"STRAY;1;2\nF";"1;1";2\n', ["B", LEFT_OUT, 'F"', "C"]),
        (b'"STRAY;1;2\r\nD;1\r\nF";1;2\r\n', ["B", LEFT_OUT, LEFT_OUT, 'F"', "C"]),
        (b'"a;1\ntext;\n";1;2\n', ["B", "a;1\ntext;\n", "C"]),
        (b'S;1;"a;1\ntext;"\n', ["B", "S", "C"]),
    ],
)
def test_a_stray_quote_does_not_swallow_the_rows_up_to_another_quote(
    rows: bytes, names: list[str]
) -> None:
    text, rejected = _text_and_rejected(b"n;a;b\nB;1;2\n" + rows + b"C;1;2\n", CsvForm(";", '"', 3))

    assert pl.read_csv(text, separator=";", infer_schema=False)["n"].to_list() == names
    assert len(rejected) == names.count(LEFT_OUT)
    assert all(row.reason == csv_rows.NEVER_CLOSED for row in rejected[:1])


def test_a_stray_quote_without_another_quote_rejects_only_its_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fixed: the file was refused, since its text within quotes was longer than a row of a register."""
    monkeypatch.setattr(csv_rows, "CHUNK", 1_000)
    monkeypatch.setattr(record_stream, "LONGEST", 5_000)

    text, rejected = _text_and_rejected(
        b'n;a;b\n"STRAY;1;2\n' + b"B;1;2\n" * 2_000, CsvForm(";", '"', 3)
    )

    assert text.count(b"\n") == 2_002
    assert [(row.row, row.reason) for row in rejected] == [(1, csv_rows.NEVER_CLOSED)]


def test_a_separator_at_the_end_of_each_row_is_no_field() -> None:
    text, rejected = _text_and_rejected(b"n;a\nA;1;\nB;;\n", CsvForm(";", '"', 2))

    frame = pl.read_csv(text, separator=";", infer_schema=False)
    assert (frame.rows(), rejected) == ([("A", "1"), ("B", None)], [])


@pytest.mark.parametrize(
    ("source", "file"),
    [("se-bolagsverket", "se/bolagsverket_bulkfil.txt"), ("lt-jar", "lt/JAR_IREGISTRUOTI.csv")],
)
def test_control_characters_of_the_written_rows_move_no_value_and_hide_no_row(
    tmp_path: Path, source: str, file: str
) -> None:
    """Fixed: U+001F moved the values of a Swedish row; a row with U+001E as its first field was not counted."""
    excerpt_of_file = next(published for published in EXCERPTS if published.source == source)
    header, first_row, *rows = _header_and_rows(excerpt_of_file)
    separator = b";" if source == "se-bolagsverket" else b"|"
    identifier, _, values = first_row.partition(separator)
    changed = identifier + separator + values.replace(b" ", b"\x1f", 1)
    quote = b'"' if source == "se-bolagsverket" else b""
    no_identifier = quote + b"\x1e" + quote + separator + values
    texts = {
        "clean": b"".join([header, first_row, *rows]),
        "changed": b"".join([header, changed, no_identifier, b"Total\n", *rows]),
    }
    reports = {}
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / file.rpartition("/")[2]).write_bytes(text)
        reports[name] = importing.run(
            source, list((tmp_path / name).iterdir()), tmp_path / f"{name}-out"
        )

    clean, changed_rows = (
        pl.read_parquet(tmp_path / f"{name}-out" / report.output)
        for name, report in reports.items()
    )
    assert changed_rows.equals(clean)
    assert reports["changed"].counts.read == reports["clean"].counts.read + 2


@pytest.mark.parametrize("place", [0, 1, 60])
def test_a_row_without_the_separator_at_the_end_of_all_others_lacks_a_field(place: int) -> None:
    """Fixed: its values moved to the next columns, or all other rows were rejected if it was one of the first."""
    rows = [b"A;1;\n"] * 61
    rows[place] = b"1;\n"

    text, rejected = _text_and_rejected(b"".join([b"n;a\n", *rows]), CsvForm(";", '"', 2))

    assert pl.read_csv(text, separator=";", infer_schema=False)["n"].to_list().count("A") == 60
    assert [(row.row, row.reason) for row in rejected] == [(place + 1, csv_rows.TOO_FEW)]


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
def test_a_packing_or_encoding_is_recognised_by_its_bytes(tmp_path: Path, pack: Any) -> None:
    # EXCERPTS[1] is Estonia.
    text = b"".join(_header_and_rows(EXCERPTS[1])).removeprefix(b"\xef\xbb\xbf")
    (tmp_path / "a.csv").write_bytes(text)
    (tmp_path / "b.csv").write_bytes(pack(text))
    work_folders = {"a.csv": tmp_path / "work of a", "b.csv": tmp_path / "work of b"}
    for folder in work_folders.values():
        folder.mkdir()

    plain, packed = (read("ee", [tmp_path / name], folder) for name, folder in work_folders.items())

    assert packed.kept.collect().equals(plain.kept.collect())


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress])
@pytest.mark.parametrize("damage", [lambda packed: packed[:-9], lambda packed: packed + b"more"])
def test_a_packed_file_that_is_cut_or_has_more_bytes_is_refused(
    tmp_path: Path, pack: Any, damage: Any
) -> None:
    file = tmp_path / "b.csv"
    file.write_bytes(damage(pack(b"".join(_header_and_rows(EXCERPTS[1])))))  # Estonia

    with pytest.raises(InputError, match=r"b\.csv is damaged .*download it again"):
        read("ee", [file], tmp_path)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a-2026-11-01-part1_2.csv"], "part 2 of 2 is missing"),
        (["part1of3.csv", "part3of3.csv"], "part 2 of 3 is missing"),
        (["a-2026-10-01-part1_2.csv", "a-2026-11-01-part2_2.csv"], "two editions"),
        (["a-2026-10-01.csv", "a-2026-11-01.csv"], "two editions"),
        (["lei2-intra-day-20240505.csv"], "only changes"),
        (["KboOpenData_0127_2024_09_Update.csv"], "only changes"),
        (["enterprise_insert.csv"], "only changes"),
        (["actual_2024-05-05_001.json"], "only changes"),
        (["Zmiany 2024.csv"], "only changes"),
        (["a\u0308ndringar.csv"], "only changes"),
        (["20240505-0000-lei2.json", "20240506-0800-lei2.json"], "two editions"),
        (
            ["KboOpenData_0126_2024_08_Full.csv", "KboOpenData_0127_2024_09_Full.csv"],
            "two editions",
        ),
        (["parte1de3.csv", "parte2de3.csv"], "part 3 of 3 is missing"),
        (["register.csv.crdownload"], "an unfinished download"),
    ],
)
def test_files_whose_names_show_that_they_are_not_one_complete_edition_are_refused(
    tmp_path: Path, names: list[str], message: str
) -> None:
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
def test_names_that_only_resemble_changes_or_editions_are_accepted(
    tmp_path: Path, names: list[str]
) -> None:
    folder = tmp_path / "delta-updates"  # the name of a folder says nothing
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
        text = b"row\n" * (number + 1)  # other content, so that only the names show the copy
        text = gzip.compress(text) if file.suffix == ".gz" else text
        text = bz2.compress(text) if file.suffix == ".bz2" else text
        file.write_bytes(published.zip_of({"in.csv": text}) if ".zip" in file.name else text)

    for is_whole in (True, False):
        # Filings (not `is_whole`) can have the same name in several folders, so the pair with a folder is accepted
        # there. The pair with .gz is tested for a register only.
        if is_whole or ("/" not in second and ".gz" not in second):
            with pytest.raises(InputError, match="two copies of one file") as refusal:
                file_set.check(files, is_whole=is_whole)
            assert all(file.name in str(refusal.value) for file in files)


def test_two_files_with_the_same_content_are_refused(tmp_path: Path) -> None:
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


def test_parts_api_answers_and_notes_are_not_copies_of_each_other(tmp_path: Path) -> None:
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


def test_two_tables_of_one_kind_with_different_days_in_their_names_are_refused(
    tmp_path: Path,
) -> None:
    lines = _header_and_rows(EXCERPTS[0])
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
def test_a_gleif_file_whose_header_says_changes_or_a_part_is_refused(
    tmp_path: Path, content: str
) -> None:
    header = f"<h><FileContent>{content}</FileContent><RecordCount>1</RecordCount></h>"
    file = tmp_path / "a.xml"
    for source, record in (("gleif", "LEIRecord"), ("gleif-rr", "RelationshipRecord")):
        file.write_text(f"<a>{header}<{record}></{record}></a>")

        with pytest.raises(InputError, match="has only changes or a part, according to its header"):
            REGISTERS[source].read([file], tmp_path)


def test_complete_sets_and_filings_of_several_days_are_accepted(tmp_path: Path) -> None:
    names = ["a-2026-11-01-part1_2.csv", "a-2026-11-01-part2_2.csv", "b-2022_2023.csv"]
    files = [tmp_path / name for name in (*names, "a-2026-10-02.csv")]
    for file in files:
        file.touch()

    file_set.check(files[:3], is_whole=True)
    file_set.check([files[2], files[3]], is_whole=False)


def test_a_message_is_short_and_printable() -> None:
    message = str(BuildError(f"unknown column {'a' * 9_000}\0; give another file"))

    assert len(message) <= 1_001  # an ellipsis replaces the middle of a longer message
    assert message.isprintable()
    assert message.endswith("give another file")
    assert excerpt("é" * 500) == "é" * 120 + "…"
