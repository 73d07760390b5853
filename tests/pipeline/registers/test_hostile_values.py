"""One odd value never removes a company: every used column of every declared register, with values that cannot be.

The rows are made from the declarations: a real row of the bundled excerpt, again and again, each time with one value of
one published column replaced. No list of registers or columns is kept here.
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

DECLARED = {
    path.stem: declared
    for path in sorted(FOLDER.glob("*.toml"))
    if (declared := declaration.read(path)).columns
}
HOSTILE: Final = (
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
LAST_YEAR = implausible_values.latest_year(money.rates(SEEDS))


def excerpt(declared: Declaration, work: Path) -> list[Path]:
    """The bundled excerpt of a register, else a file made from the declaration."""
    with (TABLES / "extraits.csv").open(encoding="utf-8", newline="") as file:
        patterns = [r["fichiers"] for r in csv.DictReader(file) if r["source"] == declared.source]
    if patterns:
        return sorted(RAW.glob(patterns[0]))
    [kind] = declared.files.values()
    names = [*kind.used, *(name for name in kind.ignored if not name.endswith("*"))]
    path = work / f"{declared.source}.csv"
    path.write_text(
        f"{kind.separator.join(names)}\n{kind.separator.join('27074358' for _ in names)}\n"
    )
    return [path]


def roots(declared: Declaration, expressions: Iterator[str]) -> set[str]:
    """The columns that expressions read, and those of the derived columns among them."""
    found: set[str] = set()
    waiting = list(expressions)
    while waiting:
        for name in pl.sql_expr(waiting.pop()).meta.root_names():
            name = name.removesuffix(" code")
            if name not in found:
                found.add(name)
                waiting += [declared.derived[name].sql] if name in declared.derived else []
                waiting += [
                    text
                    for kind in declared.files.values()
                    for text in kind.columns.get(name, ((), False))[0]
                ]
    return found


def deciding(declared: Declaration) -> set[str]:
    """The columns that decide which company a row is, and whether it is dropped on purpose."""
    conditions = [reason.when for reason in (*declared.drop.values(), *declared.reject.values())]
    kinds = [declared.files[name] for name in declared.main]
    conditions += [kind.where for kind in kinds if kind.where]
    conditions += [text for kind in kinds for text in kind.one_per]
    conditions += [text for name in ("iso2", "id", "nom") for text in declared.columns[name].sql]
    keys = {ours for join in declared.joins.values() for ours in join.on}
    return roots(declared, iter(conditions)) | keys


def typed(declared: Declaration) -> list[str]:
    """The canonical dates and numbers of a declaration."""
    return [
        name
        for name, column in declared.columns.items()
        if column.formats or COMPANIES[name] in (INTEGER, NUMBER)
    ]


def hostile_rows(rows: pl.DataFrame, columns: list[str], good: str) -> pl.DataFrame:
    """A row of the company `good` again and again, each time with one value of one column replaced."""
    texts = [name for name, dtype in rows.schema.items() if dtype == pl.String]
    own = rows.filter(pl.concat_str(texts, ignore_nulls=True).str.contains(good, literal=True))
    base = (own if own.height else rows).head(1)
    changed = [base.with_columns(pl.lit(v).alias(name)) for name in columns for v in HOSTILE]
    number = pl.int_range(1, pl.len() + 1).cast(pl.Int64).alias(ROW)
    return pl.concat([base, *changed]).with_columns(number)


@pytest.mark.parametrize("source", DECLARED)
def test_a_value_that_cannot_be_never_removes_a_row_of_a_register(
    source: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    declared = replace(DECLARED[source], repeated=None)
    files, decide = excerpt(declared, tmp_path), deciding(declared)
    folders = [tmp_path / "whole", tmp_path / "hostile"]
    for folder in folders:
        folder.mkdir()
    good = (
        declaration_reader.read(declared, files, folders[0]).kept.select("id").collect().item(0, 0)
    )
    unpack, changed, heights = source_file.unpack, set[str](), list[int]()

    def unpack_hostile(*arguments: Any) -> list[FilePart]:
        return [make_hostile(part) for part in unpack(*arguments)]

    def make_hostile(part: FilePart) -> FilePart:
        if part.kind.name not in declared.main:
            return part
        rows, rename = part.rows.collect(), part.kind.rename
        texts = [name for name, dtype in rows.schema.items() if dtype == pl.String]
        columns = [name for name in texts if rename.get(name, name) not in decide]
        changed.update(rename.get(name, name) for name in columns)
        made = hostile_rows(rows, columns, good)
        heights.append(made.height)
        return replace(part, rows=made.lazy())

    monkeypatch.setattr(source_file, "unpack", unpack_hostile)
    found = declaration_reader.read(declared, files, folders[1])

    counts = found.counts
    assert (counts.read, counts.kept, counts.rejected) == (sum(heights), sum(heights), {})
    kept = clean(found.kept).collect()
    patterns = {pays.iso2: implausible_values.placeholders(SEEDS, pays.iso2) for pays in SEEDS.pays}
    for [iso2], of_country in kept.group_by("iso2"):
        plain, _ = implausible_values.leave_out(of_country, patterns[str(iso2)], LAST_YEAR)
        for name in typed(declared):
            values = plain[name].drop_nulls()
            if declared.columns[name].formats:
                assert ((values >= "1000") & (values <= f"{LAST_YEAR}-12-31")).all(), name
            else:
                assert (
                    values.is_finite() & (values.abs() <= implausible_values.MOST_MONEY)
                ).all(), name
    for name in set(typed(declared)) - {"date_source"}:
        if roots(declared, iter(declared.columns[name].sql)) & changed:
            assert counts.noted[entity.UNREADABLE.get(name, f"{name} illisible")] > 0


def test_a_day_that_stands_for_no_end_ends_nothing(tmp_path: Path) -> None:
    """`9999-12-31` as the last day of a Czech company, and of a Finnish name."""
    declared = DECLARED["cz-res"]
    [path] = excerpt(declared, tmp_path)
    header, row = path.read_text().splitlines()
    place = header.split(",").index("DDATZAN")
    lines = [header]
    for number, end in enumerate(("", "9999-12-31", "31.12.9999", "2020-05-01"), start=1):
        cells = row.split(",")
        cells[place] = end
        cells[header.split(",").index("ICO")] = f"2707435{number}"
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n")
    finland = (RAW / "fi" / "prh_v3_nokia_2026.json").read_text(encoding="utf-8")
    nokia = tmp_path / "prh_v3_nokia_2026.json"
    company = json.loads(finland)
    [current] = [n for n in _names(company) if n["type"] == "1" and not n.get("endDate")]
    current["endDate"] = "9999-12-31"
    nokia.write_text(json.dumps(company), encoding="utf-8")

    czech = declaration_reader.read(declared, [path], tmp_path).kept.collect()
    finnish = declaration_reader.read(DECLARED["fi-prh"], [nokia], tmp_path).kept.collect()

    assert czech["statut"].to_list() == ["Aktivní", "Aktivní", "Aktivní", "Zaniklý"]
    assert finnish["nom"].to_list() == ["Nokia Oyj"]


def _names(value: Any) -> list[dict[str, Any]]:
    """The names of the only company of an answer of PRH."""
    if isinstance(value, dict):
        return (
            value["names"]
            if "names" in value
            else _names(next(v for v in value.values() if isinstance(v, list)))
        )
    return _names(value[0])
