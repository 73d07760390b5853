"""Every layout, damaged in every way: the rows of the clean file less the damaged one, or a refusal that says why."""

import json
import random
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest

from pipeline import importing
from pipeline.canonical import InputError
from pipeline.registers import csv_rows
from tests.pipeline.registers import layouts
from tests.pipeline.registers.layouts import Layout, Table

LAYOUTS: Final = layouts.layouts()
TABLES: Final = [table for layout in LAYOUTS.values() for table in layouts.tables(layout)]
RECORDS: Final = [(layout, name) for layout in LAYOUTS.values() for name in layouts.records(layout)]
TEXTS: Final = [(layout, name) for layout in LAYOUTS.values() for name in layout.files]
ODD: Final = [
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


def _imported(layout: Layout, files: Mapping[str, bytes]) -> tuple[Rows, Rows, int]:
    """The kept and the rejected rows of an import of `files`, and how many rows gave nothing."""
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "in"
        given.mkdir()
        for name, text in files.items():
            (given / name).write_bytes(text)
        out = Path(folder) / "out"
        report = importing.run(layout.source, sorted(given.iterdir()), out)
        kept = pl.read_parquet(out / report.output).drop("date_source", strict=False)
        rejected = pl.read_parquet(out / report.rejected) if report.rejected else pl.DataFrame()
        gone = report.counts.read - report.counts.kept - report.counts.merged
    return kept.sort(kept.columns[:5]).to_dicts(), rejected.to_dicts(), gone


_CLEAN: dict[str, tuple[Rows, Rows, int]] = {}


def _clean(layout: Layout) -> tuple[Rows, Rows, int]:
    if layout.source not in _CLEAN:
        _CLEAN[layout.source] = _imported(layout, layout.files)
    return _CLEAN[layout.source]


def _with(layout: Layout, name: str, text: bytes) -> tuple[Rows, Rows, int]:
    return _imported(layout, {**layout.files, name: text})


def _named(layout: Layout | Table | tuple[Layout, str]) -> str:
    if isinstance(layout, Table):
        return f"{layout.layout.source}-{layout.name}"
    return layout.source if isinstance(layout, Layout) else f"{layout[0].source}-{layout[1]}"


@pytest.mark.parametrize("table", TABLES, ids=_named)
@pytest.mark.parametrize("damage", ["less", "more", "nul"])
def test_a_damaged_row_is_left_out_and_named(table: Table, damage: str) -> None:
    lines, row = table.lines, len(table.lines) // 2
    fields = table.fields(row)
    middle = len(fields) // 2
    if damage == "less":
        changed = table.line(fields[:middle] + fields[middle + 1 :])
    elif damage == "more":
        changed = table.line([*fields[:middle], "x", *fields[middle:]])
    else:
        changed = table.line([*fields[:-1], "\0"])
    left = _with(table.layout, table.name, b"".join(lines[:row] + lines[row + 1 :]))

    kept, rejected, _ = _with(
        table.layout, table.name, b"".join([*lines[:row], changed, *lines[row + 1 :]])
    )

    assert kept == left[0]
    why = {"less": csv_rows.TOO_FEW, "more": csv_rows.TOO_MANY, "nul": csv_rows.NUL}[damage]
    assert (table.name, row, why) in _places(rejected)


def _places(rejected: Rows) -> set[tuple[object, ...]]:
    return {(row["fichier"], row["ligne"], row["motif"]) for row in rejected}


@pytest.mark.parametrize("table", TABLES, ids=_named)
def test_a_header_and_totals_among_the_rows_are_left_out_and_named(table: Table) -> None:
    lines, count = table.lines, len(table.fields(0))
    header = lines[0].removeprefix(b"\xef\xbb\xbf")
    totals = table.line(["Total", *["12"] * (count - 1)]) + table.line(["Total"] * count)

    kept, rejected, gone = _with(
        table.layout, table.name, b"".join([*lines[:2], header, *lines[2:], totals])
    )

    assert kept == _clean(table.layout)[0]
    assert (table.name, 2, csv_rows.HEADER_AGAIN) in _places(rejected)
    if table.is_main:
        assert gone == _clean(table.layout)[2] + 3


@pytest.mark.parametrize("table", TABLES, ids=_named)
def test_a_trailer_with_the_count_of_rows_is_no_company(table: Table) -> None:
    if not table.is_main:
        return
    count, rest = str(len(table.lines) - 1), [""] * (len(table.fields(1)) - 2)
    for trailer in (["99999999", count, *rest], [count, "99999999", *rest]):
        kept, *_ = _with(
            table.layout, table.name, table.layout.files[table.name] + table.line(trailer)
        )

        assert kept == _clean(table.layout)[0]


@pytest.mark.parametrize("table", TABLES, ids=_named)
def test_of_a_table_that_is_cut_nothing_wrong_is_read(table: Table) -> None:
    lines = table.lines
    last = lines[-1].rstrip(b"\r\n")
    before = _with(table.layout, table.name, b"".join(lines[:-1]))[0] if len(lines) > 2 else []
    for end in (2, len(last) // 2, len(last) - 1):
        try:
            kept, *_ = _with(table.layout, table.name, b"".join(lines[:-1]) + last[:end])
        except InputError as error:
            assert "download" in str(error).lower()
        else:
            assert kept in (before, _clean(table.layout)[0])


@pytest.mark.parametrize("table", TABLES, ids=_named)
def test_a_table_that_ends_within_quotes_or_before_its_rows_is_refused(table: Table) -> None:
    lines = table.lines
    cut = b'"Muster' if table.separator != b"^" else b"Muster"
    for text in (b"", b"\xef\xbb\xbf", lines[0], b"".join(lines) + cut):
        with pytest.raises(InputError, match=r"[Dd]ownload"):
            _with(table.layout, table.name, text)


@pytest.mark.parametrize("table", TABLES, ids=_named)
def test_marks_and_line_ends_change_nothing(table: Table) -> None:
    lines = [line.rstrip(b"\r\n") for line in table.lines]
    bare = lines[0].removeprefix(b"\xef\xbb\xbf")
    texts = [
        b"\xef\xbb\xbf" + b"\n".join([bare, *lines[1:]]) + b"\n",
        b"".join(line + (b"\r\n", b"\n")[n % 2] for n, line in enumerate([bare, *lines[1:]])),
        b"\r\n".join([bare, *lines[1:]]) + b"\r\n\r\n\x1a",
        b"\xff\xfe" + (b"\n".join([bare, *lines[1:]]) + b"\n").decode().encode("utf-16-le"),
    ]

    for text in texts:
        assert _with(table.layout, table.name, text)[0] == _clean(table.layout)[0]


@pytest.mark.parametrize("table", TABLES, ids=_named)
def test_letters_of_windows_are_read_as_such(table: Table) -> None:
    text = table.layout.files[table.name].removeprefix(b"\xef\xbb\xbf").decode()
    lines = [
        line.encode("cp1252")
        if line == line.encode("cp1252", "replace").decode("cp1252")
        else line.encode()
        for line in text.splitlines(keepends=True)
    ]

    assert _with(table.layout, table.name, b"".join(lines))[0] == _clean(table.layout)[0]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=_named)
@pytest.mark.parametrize("names", [("a-2026-01-01-", "a-2026-02-01-"), ("", "update_")])
def test_two_editions_and_changes_beside_the_whole_are_refused_for_whole_registers(
    layout: Layout, names: tuple[str, str]
) -> None:
    files = {prefix + name: text for prefix in names for name, text in layout.files.items()}
    if layout.is_whole:
        with pytest.raises(InputError, match=r"two editions|changes alone"):
            _imported(layout, files)


def _by_id(rows: Rows) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row.get("iso2"), row.get("id") or row.get("lei")), []).append(row)
    return found


def _assert_others_stay(layout: Layout, rows: Rows) -> None:
    """At most one company is another than in the clean files, and none is new but that."""
    before, after = _by_id(_clean(layout)[0]), _by_id(rows)
    assert len([key for key in before if after.get(key) != before[key]]) <= 1
    assert len(after.keys() - before.keys()) <= 1


@pytest.mark.parametrize("table", TABLES, ids=_named)
def test_an_odd_value_touches_its_own_row_and_field_alone(table: Table) -> None:
    lines, row = table.lines, len(table.lines) // 2
    fields = table.fields(row)
    clean = _by_id(_clean(table.layout)[0])
    picks = random.Random(table.name)
    places = [n for n, field in enumerate(fields) if field.replace(".", "").isdigit()]
    for place in places[1:8]:
        odd = picks.choice(ODD)
        changed = table.line([*fields[:place], odd, *fields[place + 1 :]])
        text = b"".join([*lines[:row], changed, *lines[row + 1 :]])
        kept, *_ = _with(table.layout, table.name, text)
        _assert_others_stay(table.layout, kept)
        for key, rows in _by_id(kept).items():
            if "valeur" in rows[0]:
                known = {
                    (one["exercice"], one["code"]): one["valeur"] for one in clean.get(key, [])
                }
                new = [
                    one
                    for one in rows
                    if known.get((one["exercice"], one["code"])) != one["valeur"]
                ]
                assert (place, odd, new) == (place, odd, [])


@pytest.mark.parametrize("record", RECORDS, ids=_named)
@pytest.mark.parametrize("damage", ["a number", "a text", "nothing", "a list", "a total"])
def test_a_record_that_is_none_is_left_out_and_named(
    record: tuple[Layout, str], damage: str
) -> None:
    layout, name = record
    values = json.loads(layout.files[name])
    numbers = [str(row["id"]) for row in _clean(layout)[0]]
    place = next(n for n, v in enumerate(values) if any(i in json.dumps(v) for i in numbers))
    total = re.sub(rf'"(?:{"|".join(numbers)})"', '"Total"', json.dumps(values[place]))
    odd: dict[str, Any] = {
        "a number": 12,
        "a text": "Total",
        "nothing": None,
        "a list": [1],
        "a total": json.loads(total),
    }
    if damage == "a total" and layout.source == "gleif":
        return  # the LEI identifies
    left = values[:place] + values[place + 1 :]
    before, *_ = _with(layout, name, json.dumps(left).encode())

    kept, rejected, _ = _with(
        layout, name, json.dumps([*values[:place], odd[damage], *values[place + 1 :]]).encode()
    )

    assert kept == before
    if damage != "a total":
        assert (name, place + 1) in {(row["fichier"], row["ligne"]) for row in rejected}


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, (*path, key))]
    if isinstance(value, list):
        return [leaf for n, inner in enumerate(value) for leaf in _leaves(inner, (*path, n))]
    return [path]


@pytest.mark.parametrize("record", RECORDS, ids=_named)
def test_an_odd_value_of_a_record_touches_its_own_company_alone(record: tuple[Layout, str]) -> None:
    layout, name = record
    picks = random.Random(name)
    values = json.loads(layout.files[name])
    for path in picks.sample(leaves := _leaves(values[0]), min(12, len(leaves))):
        changed = json.loads(layout.files[name])
        holder = changed[0]
        for key in path[:-1]:
            holder = holder[key]
        value: Any = picks.choice([*ODD, None, [], -1, 1e308, True, "31/12/9999"])
        holder[path[-1]] = value
        try:
            kept, *_ = _with(layout, name, json.dumps(changed).encode())
        except InputError as error:
            raise AssertionError((path, value)) from error
        _assert_others_stay(layout, kept)


@pytest.mark.parametrize("text", TEXTS, ids=_named)
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
def test_no_damage_of_a_text_moves_a_value(
    text: tuple[Layout, str], damage: Callable[[bytes], bytes]
) -> None:
    layout, name = text
    try:
        kept, *_ = _with(layout, name, damage(layout.files[name]))
    except InputError as error:
        assert any(
            word in str(error).lower()
            for word in ("download it again", "twice", "add it", "give", "changed")
        )
        return
    known = {_key(row): row for row in _clean(layout)[0]}
    for row in kept:
        there = known.get(_key(row))
        assert there is not None
        assert all(value in (None, [], there[column]) or column in ("libelle", "nom", "adresse", "ville")
                   for column, value in row.items())  # fmt: skip


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(
        row.get(name) for name in ("iso2", "id", "exercice", "code", "lei", "parent_lei", "nature")
    )
