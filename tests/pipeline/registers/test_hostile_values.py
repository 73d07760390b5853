"""An odd value does not remove a company: impossible values in every used column of every declared register.

The rows are made from the declarations: copies of a real row of the bundled excerpt, each with one value of one
published column replaced. There is no list of registers or columns here.
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest

from pipeline import seeds
from pipeline.canonical import COMPANIES, INTEGER, NUMBER
from pipeline.registers import FOLDER
from pipeline.registers.toml import declaration, declaration_reader, entity, source_file
from pipeline.registers.toml.declaration import Declaration
from pipeline.registers.toml.source_file import ROW, FilePart
from pipeline.stages import implausible_values, money
from pipeline.stages.text_cleaning import clean
from seeds import TABLES
from tests.pipeline.registers.reading import RAW

# Source -> its declaration, for the registers of companies.
DECLARATIONS = {
    path.stem: declared
    for path in sorted(FOLDER.glob("*.toml"))
    if (declared := declaration.read(path)).columns
}
# Dates, numbers and texts that are impossible, are placeholders, or are hard to parse.
HOSTILE_VALUES: Final = (
    *(
        "0001-01-01",
        "01/01/0001",
        "01.01.0001",
        "9999-12-31",
        "31/12/9999",
        "31.12.9999",
        "13/10/10",
    ),
    *("2199-01-01", "01/01/2199", "2020-02-30", "31/02/2020", "2020-01-01T24:00:00", "20201301"),
    *("-3", "-1", "NaN", "inf", "-inf", "1e308", "1" * 25, "-0", "0", "1.5", "1,5", "0x1A"),
    *("n/a", "N/A", "-", "NULL", "null", "unknown", "UNKNOWN", "00000", "99999", "?", "x" * 600),
    *("\x01", "é\x0bü", "\u200b", "😀", "'", '"', "%", "\\"),
)
SEEDS = seeds.read()
# A date after this year is implausible.
LAST_YEAR = implausible_values.latest_year(money.rates(SEEDS))


def excerpt_files(declared: Declaration, work: Path) -> list[Path]:
    """The bundled excerpt of a register; without one, a file of one row with every declared column."""
    with (TABLES / "extraits.csv").open(encoding="utf-8", newline="") as file:
        patterns = [
            row["fichiers"] for row in csv.DictReader(file) if row["source"] == declared.source
        ]
    if patterns:
        return sorted(RAW.glob(patterns[0]))
    [kind] = declared.files.values()
    column_names = [*kind.used, *(name for name in kind.ignored if not name.endswith("*"))]
    path = work / f"{declared.source}.csv"
    # 27074358 is a number of the Czech register, which has no excerpt.
    path.write_text(
        f"{kind.separator.join(column_names)}\n{kind.separator.join('27074358' for _ in column_names)}\n"
    )
    return [path]


def columns_read_by(declared: Declaration, expressions: Iterator[str]) -> set[str]:
    """The published columns that SQL expressions of a declaration read, also through columns that it computes."""
    column_names: set[str] = set()
    unread_expressions = list(expressions)
    while unread_expressions:
        for name in pl.sql_expr(unread_expressions.pop()).meta.root_names():
            name = name.removesuffix(" code")  # the published code of a derived label
            if name not in column_names:
                column_names.add(name)
                unread_expressions += (
                    [declared.derived[name].sql] if name in declared.derived else []
                )
                unread_expressions += [
                    expression
                    for kind in declared.files.values()
                    for expression in kind.columns.get(name, ((), False))[0]
                ]
    return column_names


def deciding_columns(declared: Declaration) -> set[str]:
    """The columns that decide which company a row is, and whether it is dropped on purpose."""
    conditions = [reason.when for reason in (*declared.drop.values(), *declared.reject.values())]
    kinds = [declared.files[name] for name in declared.main]
    conditions += [kind.where for kind in kinds if kind.where]
    conditions += [text for kind in kinds for text in kind.one_per]
    conditions += [text for name in ("iso2", "id", "nom") for text in declared.columns[name].sql]
    keys = {ours for join in declared.joins.values() for ours in join.on}
    return columns_read_by(declared, iter(conditions)) | keys


def date_and_number_columns(declared: Declaration) -> list[str]:
    """The names of the canonical columns of a declaration that are dates or numbers."""
    return [
        name
        for name, column in declared.columns.items()
        if column.formats or COMPANIES[name] in (INTEGER, NUMBER)
    ]


def hostile_rows(rows: pl.DataFrame, columns: list[str], identifier: str) -> pl.DataFrame:
    """A row of the company `identifier`, and copies of it with one hostile value in one of `columns`, numbered."""
    text_columns = [name for name, dtype in rows.schema.items() if dtype == pl.String]
    rows_of_company = rows.filter(
        pl.concat_str(text_columns, ignore_nulls=True).str.contains(identifier, literal=True)
    )
    original = (rows_of_company if rows_of_company.height else rows).head(1)
    changed = [
        original.with_columns(pl.lit(value).alias(name))
        for name in columns
        for value in HOSTILE_VALUES
    ]
    row_number = pl.int_range(1, pl.len() + 1).cast(pl.Int64).alias(ROW)
    return pl.concat([original, *changed]).with_columns(row_number)


@pytest.mark.parametrize("source", DECLARATIONS)
def test_an_impossible_value_does_not_remove_a_row_of_a_register(
    source: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every row is kept; its impossible dates and numbers become null, and unreadable ones are counted.

    Columns that decide whether a row is kept, such as the identifier, are left unchanged.
    """
    declared = replace(DECLARATIONS[source], repeated=None)  # keep all rows of one company
    files, deciding = excerpt_files(declared, tmp_path), deciding_columns(declared)
    folders = [tmp_path / "whole", tmp_path / "hostile"]
    for folder in folders:
        folder.mkdir()
    identifier = (
        declaration_reader.read(declared, files, folders[0]).kept.select("id").collect().item(0, 0)
    )
    unpack = source_file.unpack
    changed_columns: set[str] = set()
    row_counts: list[int] = []  # of each main file

    def unpack_hostile(*arguments: Any) -> list[FilePart]:
        """Unpack the files as the reader does, and replace the main rows with hostile ones."""
        return [make_hostile(part) for part in unpack(*arguments)]

    def make_hostile(part: FilePart) -> FilePart:
        """A part of a file with `hostile_rows` in place of its rows, if the part contains companies."""
        if part.kind.name not in declared.main:
            return part
        rows, rename = part.rows.collect(), part.kind.rename
        text_columns = [name for name, dtype in rows.schema.items() if dtype == pl.String]
        columns = [name for name in text_columns if rename.get(name, name) not in deciding]
        changed_columns.update(rename.get(name, name) for name in columns)
        hostile = hostile_rows(rows, columns, identifier)
        row_counts.append(hostile.height)
        return replace(part, rows=hostile.lazy())

    monkeypatch.setattr(source_file, "unpack", unpack_hostile)
    reading = declaration_reader.read(declared, files, folders[1])

    counts = reading.counts
    assert (counts.read, counts.kept, counts.rejected) == (sum(row_counts), sum(row_counts), {})
    cleaned = clean(reading.kept).collect()
    placeholder_patterns = {
        pays.iso2: implausible_values.placeholders(SEEDS, pays.iso2) for pays in SEEDS.pays
    }
    for [iso2], of_country in cleaned.group_by("iso2"):
        plausible, _ = implausible_values.leave_out(
            of_country, placeholder_patterns[str(iso2)], LAST_YEAR
        )
        for name in date_and_number_columns(declared):
            values = plausible[name].drop_nulls()
            if declared.columns[name].formats:
                assert ((values >= "1000") & (values <= f"{LAST_YEAR}-12-31")).all(), name
            else:
                assert (
                    values.is_finite() & (values.abs() <= implausible_values.MOST_MONEY)
                ).all(), name
    for name in set(date_and_number_columns(declared)) - {"date_source"}:
        if columns_read_by(declared, iter(declared.columns[name].sql)) & changed_columns:
            assert counts.noted[entity.UNREADABLE.get(name, f"{name} illisible")] > 0


def test_a_placeholder_for_no_last_day_does_not_end_a_company_or_a_name(tmp_path: Path) -> None:
    """`9999-12-31` as the last day of a Czech company, and of a Finnish name."""
    declared = DECLARATIONS["cz-res"]
    [path] = excerpt_files(declared, tmp_path)
    header, row = path.read_text().splitlines()
    end_column = header.split(",").index("DDATZAN")
    lines = [header]
    for number, last_day in enumerate(("", "9999-12-31", "31.12.9999", "2020-05-01"), start=1):
        cells = row.split(",")
        cells[end_column] = last_day
        cells[header.split(",").index("ICO")] = f"2707435{number}"
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n")
    published_answer = (RAW / "fi" / "prh_v3_nokia_2026.json").read_text(encoding="utf-8")
    nokia = tmp_path / "prh_v3_nokia_2026.json"
    company = json.loads(published_answer)
    [current] = [
        name
        for name in _names_of_company(company)
        if name["type"] == "1" and not name.get("endDate")
    ]
    current["endDate"] = "9999-12-31"
    nokia.write_text(json.dumps(company), encoding="utf-8")

    czech = declaration_reader.read(declared, [path], tmp_path).kept.collect()
    finnish = declaration_reader.read(DECLARATIONS["fi-prh"], [nokia], tmp_path).kept.collect()

    assert czech["statut"].to_list() == ["Aktivní", "Aktivní", "Aktivní", "Zaniklý"]
    assert finnish["nom"].to_list() == ["Nokia Oyj"]


def _names_of_company(value: Any) -> list[dict[str, Any]]:
    """The list `names` of the only company in an answer of PRH, at any depth."""
    if isinstance(value, dict):
        return (
            value["names"]
            if "names" in value
            else _names_of_company(next(item for item in value.values() if isinstance(item, list)))
        )
    return _names_of_company(value[0])
