"""Each layout, damaged in many ways: an import gives the rows of the clean files without the damaged row, or fails."""

import json
import random
import re
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl
import pytest

from pipeline import importing
from pipeline.canonical import InputError
from pipeline.registers import csv_rows
from tests.pipeline.registers import layouts
from tests.pipeline.registers.layouts import Layout, Table

LAYOUTS: Final = layouts.layouts_by_source()
# The CSV tables of all layouts; then the JSON files with an array of records, and all files, each with its layout.
TABLES: Final = [table for layout in LAYOUTS.values() for table in layouts.csv_tables(layout)]
JSON_FILES: Final = [
    (layout, name) for layout in LAYOUTS.values() for name in layouts.records_by_file(layout)
]
ALL_FILES: Final = [(layout, name) for layout in LAYOUTS.values() for name in layout.files]
# Values that replace a number of a row.
ODD_VALUES: Final = [
    "n/a",
    "1e999",
    "-",
    "--5",
    "0x1F",
    "NaN",
    "9" * 400,
    "1;2",
    "٣",
    "12,5,7",
    "#REF!",
    "null",
]

Rows = list[dict[str, Any]]


class ImportedRows(NamedTuple):
    """The kept rows, the rejected rows, and the number of rows that are neither kept nor merged."""

    kept: Rows
    rejected: Rows
    left_out: int


def _import_files(layout: Layout, files: Mapping[str, bytes]) -> ImportedRows:
    """The rows of an import of `files`."""
    return _import_once(layout.source, tuple(files.items()))


@cache
def _import_once(source: str, files: tuple[tuple[str, bytes], ...]) -> ImportedRows:
    """`_import_files`, with the result of each import cached: several tests import the same files."""
    with tempfile.TemporaryDirectory() as folder:
        folder_in = Path(folder) / "in"
        folder_in.mkdir()
        for name, text in files:
            (folder_in / name).write_bytes(text)
        out = Path(folder) / "out"
        report = importing.run(source, sorted(folder_in.iterdir()), out)
        kept_rows = pl.read_parquet(out / report.output).drop("date_source", strict=False)
        rejected = pl.read_parquet(out / report.rejected) if report.rejected else pl.DataFrame()
        left_out = report.counts.read - report.counts.kept - report.counts.merged
    kept = kept_rows.sort(kept_rows.columns[:5]).to_dicts()
    return ImportedRows(kept, rejected.to_dicts(), left_out)


def _import_clean(layout: Layout) -> ImportedRows:
    """`_import_files` of the undamaged files of a layout."""
    return _import_files(layout, layout.files)


def _import_changed(layout: Layout, name: str, text: bytes) -> ImportedRows:
    """`_import_files` of the files of a layout, with `text` in place of the file `name`."""
    return _import_files(layout, {**layout.files, name: text})


def _test_id(layout: Layout | Table | tuple[Layout, str]) -> str:
    """The source of a table, layout or file, and the name of the table or file."""
    if isinstance(layout, Table):
        return f"{layout.layout.source}-{layout.name}"
    return layout.source if isinstance(layout, Layout) else f"{layout[0].source}-{layout[1]}"


@pytest.mark.parametrize("table", TABLES, ids=_test_id)
@pytest.mark.parametrize("damage", ["less", "more", "nul", "not UTF-8"])
def test_a_damaged_row_is_left_out_and_rejected_with_its_place(table: Table, damage: str) -> None:
    lines, row = table.lines, len(table.lines) // 2
    fields = table.fields(row)
    middle = len(fields) // 2
    if damage == "less":
        changed = table.line(fields[:middle] + fields[middle + 1 :])
    elif damage == "more":
        changed = table.line([*fields[:middle], "x", *fields[middle:]])
    elif damage == "nul":
        changed = table.line([*fields[:-1], "\0"])
    else:  # a character of UTF-8 and a byte of another encoding
        changed = table.line([*fields[:-1], "Õ@"]).replace(b"@", b"\xc4")
    without_row = _import_changed(
        table.layout, table.name, b"".join(lines[:row] + lines[row + 1 :])
    )

    rows, rejected, _ = _import_changed(
        table.layout, table.name, b"".join([*lines[:row], changed, *lines[row + 1 :]])
    )

    assert rows == without_row.kept
    reason = {
        "less": csv_rows.TOO_FEW,
        "more": csv_rows.TOO_MANY,
        "nul": csv_rows.NUL,
        "not UTF-8": csv_rows.NOT_UTF8,
    }[damage]
    assert (table.name, row, reason) in _file_row_and_reason(rejected)


def _file_row_and_reason(rejected: Rows) -> set[tuple[object, ...]]:
    """The file, the number and the reason of each rejected row."""
    return {(row["fichier"], row["ligne"], row["motif"]) for row in rejected}


@pytest.mark.parametrize("table", TABLES, ids=_test_id)
def test_a_header_among_the_rows_and_totals_at_the_end_are_left_out(table: Table) -> None:
    lines, column_count = table.lines, len(table.fields(0))
    header = lines[0].removeprefix(b"\xef\xbb\xbf")
    totals = table.line(["Total", *["12"] * (column_count - 1)]) + table.line(
        ["Total"] * column_count
    )

    rows, rejected, left_out = _import_changed(
        table.layout, table.name, b"".join([*lines[:2], header, *lines[2:], totals])
    )

    assert rows == _import_clean(table.layout).kept
    assert (table.name, 2, csv_rows.HEADER_AGAIN) in _file_row_and_reason(rejected)
    if table.is_main:
        assert left_out == _import_clean(table.layout).left_out + 3  # the header and two totals


@pytest.mark.parametrize("table", TABLES, ids=_test_id)
def test_a_trailer_with_the_count_of_rows_is_no_company(table: Table) -> None:
    if not table.is_main:
        return
    row_count, empty_fields = str(len(table.lines) - 1), [""] * (len(table.fields(1)) - 2)
    # 99999999 fills the field of the identifier or of the name.
    for trailer in (["99999999", row_count, *empty_fields], [row_count, "99999999", *empty_fields]):
        rows, *_ = _import_changed(
            table.layout, table.name, table.layout.files[table.name] + table.line(trailer)
        )

        assert rows == _import_clean(table.layout).kept


@pytest.mark.parametrize("table", TABLES, ids=_test_id)
def test_no_wrong_value_is_read_from_a_cut_table(table: Table) -> None:
    lines = table.lines
    last_line = lines[-1].rstrip(b"\r\n")
    rows_without_last = (
        _import_changed(table.layout, table.name, b"".join(lines[:-1])).kept
        if len(lines) > 2
        else []
    )
    for end in (2, len(last_line) // 2, len(last_line) - 1):
        try:
            rows, *_ = _import_changed(
                table.layout, table.name, b"".join(lines[:-1]) + last_line[:end]
            )
        except InputError as error:
            assert "download" in str(error).lower()
        else:
            assert rows in (rows_without_last, _import_clean(table.layout).kept)


@pytest.mark.parametrize("table", TABLES, ids=_test_id)
def test_a_table_that_ends_within_quotes_or_before_its_rows_is_refused(table: Table) -> None:
    lines = table.lines
    cut_row = b'"Muster' if table.separator != b"^" else b"Muster"
    for text in (b"", b"\xef\xbb\xbf", lines[0], b"".join(lines) + cut_row):
        with pytest.raises(InputError, match=r"[Dd]ownload"):
            _import_changed(table.layout, table.name, text)


@pytest.mark.parametrize("table", TABLES, ids=_test_id)
def test_byte_order_marks_line_ends_and_utf_16_do_not_change_the_rows(table: Table) -> None:
    lines = [line.rstrip(b"\r\n") for line in table.lines]
    header = lines[0].removeprefix(b"\xef\xbb\xbf")
    texts = [
        b"\xef\xbb\xbf" + b"\n".join([header, *lines[1:]]) + b"\n",
        b"".join(
            line + (b"\r\n", b"\n")[number % 2] for number, line in enumerate([header, *lines[1:]])
        ),
        b"\r\n".join([header, *lines[1:]]) + b"\r\n\r\n\x1a",
        b"\xff\xfe" + (b"\n".join([header, *lines[1:]]) + b"\n").decode().encode("utf-16-le"),
    ]

    for text in texts:
        assert (
            _import_changed(table.layout, table.name, text).kept == _import_clean(table.layout).kept
        )


@pytest.mark.parametrize(
    "table", [table for table in TABLES if table.layout.source == "uk-basic"], ids=_test_id
)
def test_lines_in_the_legacy_encoding_give_the_rows_of_utf_8(table: Table) -> None:
    text = table.layout.files[table.name].removeprefix(b"\xef\xbb\xbf").decode()
    lines = [
        line.encode("cp1252")
        if line == line.encode("cp1252", "replace").decode("cp1252")
        else line.encode()
        for line in text.splitlines(keepends=True)
    ]

    assert (
        _import_changed(table.layout, table.name, b"".join(lines)).kept
        == _import_clean(table.layout).kept
    )


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=_test_id)
@pytest.mark.parametrize("prefixes", [("a-2026-01-01-", "a-2026-02-01-"), ("", "update_")])
def test_two_editions_or_an_update_of_a_complete_register_are_refused(
    layout: Layout, prefixes: tuple[str, str]
) -> None:
    files = {prefix + name: text for prefix in prefixes for name, text in layout.files.items()}
    if layout.is_whole:
        with pytest.raises(InputError, match=r"two editions|only changes"):
            _import_files(layout, files)


def _group_by_id(rows: Rows) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """The rows of each company, by country and identifier."""
    rows_by_company: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        rows_by_company.setdefault((row.get("iso2"), row.get("id") or row.get("lei")), []).append(
            row
        )
    return rows_by_company


def _assert_at_most_one_company_differs(layout: Layout, rows: Rows) -> None:
    """Compared with the clean files, at most one company differs, and at most one is new."""
    before, after = _group_by_id(_import_clean(layout).kept), _group_by_id(rows)
    assert len([key for key in before if after.get(key) != before[key]]) <= 1
    assert len(after.keys() - before.keys()) <= 1


@pytest.mark.parametrize("table", TABLES, ids=_test_id)
def test_an_odd_number_in_a_row_changes_only_its_own_company_and_amount(table: Table) -> None:
    """Numbers of the middle row are replaced, one at a time; statement lines keep their amounts or are left out."""
    lines, row = table.lines, len(table.lines) // 2
    fields = table.fields(row)
    clean_rows = _group_by_id(_import_clean(table.layout).kept)
    generator = random.Random(table.name)
    places = [index for index, field in enumerate(fields) if field.replace(".", "").isdigit()]
    for place in places[1:8]:  # the first number is mostly the identifier
        odd_value = generator.choice(ODD_VALUES)
        changed = table.line([*fields[:place], odd_value, *fields[place + 1 :]])
        text = b"".join([*lines[:row], changed, *lines[row + 1 :]])
        rows_after, *_ = _import_changed(table.layout, table.name, text)
        _assert_at_most_one_company_differs(table.layout, rows_after)
        for key, rows in _group_by_id(rows_after).items():
            if "valeur" in rows[0]:
                values_before = {
                    (statement_line["exercice"], statement_line["code"]): statement_line["valeur"]
                    for statement_line in clean_rows.get(key, [])
                }
                changed_lines = [
                    statement_line
                    for statement_line in rows
                    if values_before.get((statement_line["exercice"], statement_line["code"]))
                    != statement_line["valeur"]
                ]
                # A failure shows the place and the value, too.
                assert (place, odd_value, changed_lines) == (place, odd_value, [])


@pytest.mark.parametrize("layout_and_name", JSON_FILES, ids=_test_id)
@pytest.mark.parametrize("damage", ["a number", "a text", "nothing", "a list", "a total"])
def test_a_value_that_is_not_a_record_is_left_out_and_rejected(
    layout_and_name: tuple[Layout, str], damage: str
) -> None:
    """In a JSON array, a number, a text or a total takes the place of a company; all other records are kept."""
    layout, name = layout_and_name
    values = json.loads(layout.files[name])
    identifiers = [str(row["id"]) for row in _import_clean(layout).kept]
    place = next(
        index
        for index, value in enumerate(values)
        if any(identifier in json.dumps(value) for identifier in identifiers)
    )
    total = re.sub(rf'"(?:{"|".join(identifiers)})"', '"Total"', json.dumps(values[place]))
    replacements: dict[str, Any] = {
        "a number": 12,
        "a text": "Total",
        "nothing": None,
        "a list": [1],
        "a total": json.loads(total),
    }
    if damage == "a total" and layout.source == "gleif":
        return  # the LEI identifies a company whose number is a word
    other_values = values[:place] + values[place + 1 :]
    expected, *_ = _import_changed(layout, name, json.dumps(other_values).encode())

    rows, rejected, _ = _import_changed(
        layout,
        name,
        json.dumps([*values[:place], replacements[damage], *values[place + 1 :]]).encode(),
    )

    assert rows == expected
    if damage != "a total":
        assert (name, place + 1) in {(row["fichier"], row["ligne"]) for row in rejected}


def _paths_of_values(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of keys and indexes to the values, in a JSON value, that are neither objects nor arrays."""
    if isinstance(value, dict):
        return [
            leaf for key, inner in value.items() for leaf in _paths_of_values(inner, (*path, key))
        ]
    if isinstance(value, list):
        return [
            leaf
            for index, inner in enumerate(value)
            for leaf in _paths_of_values(inner, (*path, index))
        ]
    return [path]


@pytest.mark.parametrize("layout_and_name", JSON_FILES, ids=_test_id)
def test_an_odd_value_in_a_record_changes_at_most_its_own_company(
    layout_and_name: tuple[Layout, str],
) -> None:
    layout, name = layout_and_name
    generator = random.Random(name)
    values = json.loads(layout.files[name])
    for path in generator.sample(paths := _paths_of_values(values[0]), min(12, len(paths))):
        changed = json.loads(layout.files[name])
        container = changed[0]
        for key in path[:-1]:
            container = container[key]
        value: Any = generator.choice([*ODD_VALUES, None, [], -1, 1e308, True, "31/12/9999"])
        container[path[-1]] = value
        try:
            rows, *_ = _import_changed(layout, name, json.dumps(changed).encode())
        except InputError as error:
            raise AssertionError((path, value)) from error
        _assert_at_most_one_company_differs(layout, rows)


@pytest.mark.parametrize("layout_and_name", ALL_FILES, ids=_test_id)
@pytest.mark.parametrize(
    "damage",
    [
        lambda text: b"",
        lambda text: text[: len(text) // 2],
        lambda text: text[: len(text) * 9 // 10],
        lambda text: text[:-9],
        lambda text: text[: len(text) // 2] + b"\0" * 9 + text[len(text) // 2 :],
        lambda text: text + text,
        lambda text: b"\xef\xbb\xbf" + text.removeprefix(b"\xef\xbb\xbf"),
        lambda text: text + b"\n\n",
    ],
    ids=["empty", "half", "most", "end", "NUL", "twice", "mark", "blank"],
)
def test_damage_of_a_file_never_gives_a_company_the_value_of_another(
    layout_and_name: tuple[Layout, str], damage: Callable[[bytes], bytes]
) -> None:
    layout, name = layout_and_name
    try:
        rows, *_ = _import_changed(layout, name, damage(layout.files[name]))
    except InputError as error:
        assert any(
            word in str(error).lower()
            for word in ("download it again", "twice", "add it", "give", "changed")
        )
        return
    rows_before = {_row_key(row): row for row in _import_clean(layout).kept}
    for row in rows:
        clean_row = rows_before.get(_row_key(row))
        assert clean_row is not None
        # A cut can empty a value, and shorten the texts of four columns.
        assert all(value in (None, [], clean_row[column]) or column in ("libelle", "nom", "adresse", "ville")
                   for column, value in row.items())  # fmt: skip


def _row_key(row: dict[str, Any]) -> tuple[Any, ...]:
    """The columns that identify a row: a company, a line of a statement or a relationship."""
    return tuple(
        row.get(name) for name in ("iso2", "id", "exercice", "code", "lei", "parent_lei", "nature")
    )
