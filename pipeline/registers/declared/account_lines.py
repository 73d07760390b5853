"""The lines of the filings that count: elements brought to the chart, amounts to numbers.

The names of elements are compared folded (contract B15). Of equal amounts of one line the first is
kept, of different ones that of the first element in `seeds/elements.csv`, then the first row. What
gives no line is counted by its reason, and elements that nobody mapped are named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.canonical import COMPTES, GROUP, InputError
from pipeline.registers.declared.declaration import Declaration, Legend, Sum
from pipeline.registers.declared.filed_accounts import (
    ELEMENT,
    KEY,
    OWN,
    VALUE,
    StagedFile,
    chosen_rows,
    repeated_keys,
)
from pipeline.registers.declared.source_file import ROW, FilePart
from pipeline.registers.statements import chart, taxonomy
from pipeline.registers.statements.chart import GROUP_PLACES
from pipeline.registers.statements.statement_rows import COMPUTED, OF_GROUP
from pipeline.registers.statements.taxonomy import Taxonomy
from shards.codec.folding import fold

UNKNOWN: Final = "postes inconnus"
UNNAMED: Final = "poste sans code"
NO_AMOUNT: Final = "sans montant"
UNREADABLE: Final = "montant illisible"
REPEATED: Final = "postes répétés"
CONTRADICTED: Final = "postes contradictoires (le premier est repris)"
_COMPANY: Final = ("iso2", "id", "exercice", "groupe")
_PLACE: Final = ("fichier", "rank", ROW)
_BESIDE: Final = ("devise", "echelle", "is_row", "stem")
_SUMS: Final = 1_000_000  # rank of a sum: every element of the line goes before it
_MAPPING: Final = {
    ELEMENT: pl.String(),
    "code": pl.String(),
    "signe": pl.String(),
    "choix": pl.Int64(),
    "raison": pl.String(),
}


@dataclass(frozen=True, slots=True)
class AccountLines:
    """The lines in canonical columns, and the amounts that gave none.

    Attributes:
        left_out: amounts without a line, with `raison` and their place; `is_row` where the amount
            is a row of the published table.
        repeated: published rows whose line another row had given already, by reason.
    """

    kept: pl.LazyFrame
    left_out: pl.LazyFrame
    repeated: Mapping[str, int]


def read(
    declared: Declaration,
    staged: Sequence[StagedFile],
    legends: Sequence[FilePart],
    gone: pl.LazyFrame,
    work: Path,
) -> AccountLines:
    """The lines of the filings of all files but those that are `gone`.

    Raises:
        InputError: a file without its legend, an element of the declaration that is not mapped.
    """
    accounts = declared.statements
    assert accounts is not None
    amounts = pl.concat(_amounts(file, gone) for file in staged)
    if accounts.legend:
        amounts = _labelled(amounts, accounts.legend, staged, legends)
    path = work / "montants.parquet"
    amounts.sink_parquet(path, compression="lz4", maintain_order=True)
    amounts = _numbers(pl.scan_parquet(path))
    mapping = _mapping(declared.source, accounts.sums, amounts)
    mapped = amounts.join(mapping, on=ELEMENT, how="left", maintain_order="left", nulls_equal=True)
    why = pl.coalesce(
        "raison",
        pl.when(pl.col(VALUE).is_null()).then(pl.lit(NO_AMOUNT)),
        pl.when(pl.col("nombre").is_null()).then(pl.lit(UNREADABLE)),
    )
    judged = mapped.with_columns(raison=why)
    good = judged.filter(pl.col("raison").is_null() & pl.col("code").is_not_null())
    lines, repeated = _one_each(pl.concat([_signed(good), *_summed(judged, accounts.sums)]), work)
    path = work / "montants-ecartes.parquet"
    left_out = judged.filter(pl.col("raison").is_not_null())
    left_out.sink_parquet(path, compression="lz4", maintain_order=True)
    return AccountLines(_canonical(lines), pl.scan_parquet(path), repeated)


def _amounts(file: StagedFile, gone: pl.LazyFrame) -> pl.LazyFrame:
    """One row per amount of the chosen rows of a file."""
    rows = chosen_rows(file, gone).with_columns(
        is_row=pl.lit(not file.values), stem=pl.lit(file.part.stem)
    )
    index = [*OWN, *_PLACE, *_BESIDE]
    if not file.values:
        return rows.select(*index, ELEMENT, VALUE)
    several = rows.unpivot(
        on=list(file.values), index=index, variable_name=ELEMENT, value_name=VALUE
    )
    return several.filter(pl.col(VALUE).is_not_null())


def _labelled(
    amounts: pl.LazyFrame,
    legend: Legend,
    staged: Sequence[StagedFile],
    legends: Sequence[FilePart],
) -> pl.LazyFrame:
    """Name the elements by the legend of the same name as their file."""
    there = {part.stem for part in legends}
    if lacking := sorted({file.part.stem for file in staged} - there):
        raise InputError(
            f"no {legend.file} of {lacking[0]} among those given: it says what its columns are,"
            " which changes by year; add it"
        )
    labels = pl.concat(
        part.rows.select(
            pl.lit(part.stem).alias("stem"),
            pl.col(legend.column).str.to_lowercase().alias("colonne"),
            pl.col(legend.label).alias("label"),
        )
        for part in legends
    ).unique(["stem", "colonne"], keep="first", maintain_order=True)
    found = amounts.with_columns(colonne=pl.col(ELEMENT).str.to_lowercase()).join(
        labels, on=["stem", "colonne"], how="left", maintain_order="left"
    )
    return found.with_columns(pl.coalesce("label", ELEMENT).alias(ELEMENT)).drop("colonne", "label")


def _numbers(amounts: pl.LazyFrame) -> pl.LazyFrame:
    number = pl.col(VALUE).cast(pl.Float64, strict=False)
    return amounts.with_columns(nombre=pl.when(number.is_finite()).then(number))


def _mapping(source: str, sums: Mapping[str, Sum], amounts: pl.LazyFrame) -> pl.LazyFrame:
    """The line, sign and rank of every element that occurs, or the reason why it has none."""
    known = taxonomy.load(source)
    folded = {fold(element): found for element, found in known.lines.items()}
    added = {fold(name) for found in sums.values() for name in (*found.plus, *found.minus)}
    occurring = amounts.select(pl.col(ELEMENT).unique()).collect(engine="streaming")[ELEMENT]
    rows: list[dict[str, object]] = []
    for element in occurring:
        found = folded.get(fold(element or ""))
        row: dict[str, object] = {ELEMENT: element}
        if found is not None:
            row |= {"code": found.line.code, "signe": found.signe, "choix": found.rank}
        elif fold(element or "") not in added:
            row["raison"] = _reason(element, known)
        rows.append(row)
    return pl.LazyFrame(rows, schema=_MAPPING)


def _reason(element: str | None, known: Taxonomy) -> str:
    if element is None:
        return UNNAMED
    return known.reason(element) or UNKNOWN


def _signed(good: pl.LazyFrame) -> pl.LazyFrame:
    """Amounts with the sign of their line; + 0.0 makes -0.0 a 0.0."""
    number = (
        pl.when(pl.col("signe") == "-1")
        .then(-pl.col("nombre"))
        .when(pl.col("signe") == "abs")
        .then(pl.col("nombre").abs())
        .otherwise(pl.col("nombre"))
    )
    return good.select(
        *_COMPANY, *_PLACE, "devise", "echelle", "is_row", "code", "choix",
        (number + 0.0).alias("nombre"), pl.lit(False).alias("calcul"),
    )  # fmt: skip


def _summed(judged: pl.LazyFrame, sums: Mapping[str, Sum]) -> list[pl.LazyFrame]:
    """The lines that are sums of elements."""
    occurring = judged.select(pl.col(ELEMENT).unique()).collect(engine="streaming")[ELEMENT]
    found = []
    for code, added in sums.items():
        signs = dict.fromkeys(map(fold, added.plus), 1.0) | dict.fromkeys(
            map(fold, added.minus), -1.0
        )
        of = {name: signs[fold(name)] for name in occurring.drop_nulls() if fold(name) in signs}
        parts = judged.filter(pl.col(ELEMENT).is_in(list(of)) & pl.col("nombre").is_not_null())
        sign = pl.col(ELEMENT).replace_strict(of, return_dtype=pl.Float64, default=None)
        found.append(
            parts.group_by(_COMPANY)
            .agg(
                *(pl.col(name).first() for name in (*_PLACE, "devise", "echelle")),
                nombre=(pl.col("nombre") * sign).sum() + 0.0,
                calcul=(pl.col("nombre") != 0).sum() > 1,
                there=pl.col(ELEMENT).n_unique(),
            )
            .filter(pl.col("there") >= (len(signs) if added.needs_all else 1))
            .select(
                *_COMPANY, *_PLACE, "devise", "echelle", pl.lit(False).alias("is_row"),
                pl.lit(code).alias("code"), pl.lit(_SUMS, pl.Int64).alias("choix"), "nombre",
                "calcul",
            )
        )  # fmt: skip
    return found


def _one_each(lines: pl.LazyFrame, work: Path) -> tuple[pl.LazyFrame, dict[str, int]]:
    """One amount per line of the accounts of a year, and the count of the rows that repeat one.

    Only the lines that several amounts give are grouped: few, where a filing is a row.
    """
    order = ["choix", "rank", ROW]
    path = work / "postes.parquet"
    keyed = lines.with_columns(pl.struct(*_COMPANY, "code").hash().alias(KEY))
    keyed.sink_parquet(path, compression="lz4", maintain_order=True)
    stored = pl.scan_parquet(path)
    several = repeated_keys(stored)
    rivals = stored.join(several, on=KEY, how="semi")
    names = [name for name in lines.collect_schema() if name not in (*_COMPANY, "code")]
    published = pl.col("choix") < _SUMS
    best = (
        rivals.group_by(*_COMPANY, "code")
        .agg(
            *(pl.col(name).sort_by(order).first() for name in names),
            rows=pl.col("is_row").sum(),
            others=(
                published & (pl.col("nombre") != pl.col("nombre").sort_by(order).first())
            ).sum(),
        )
        .sort("rank", ROW, *_COMPANY, "code")
        .collect(engine="streaming")
    )
    again = int(best["rows"].sum()) - int(best["is_row"].sum())
    other = int(best["others"].sum())
    repeated = {REPEATED: again - other, CONTRADICTED: other}
    single = stored.join(several, on=KEY, how="anti", maintain_order="left")
    columns = [*_COMPANY, "code", *names]
    found = pl.concat([single.select(columns), best.lazy().select(columns)])
    return found, {why: n for why, n in repeated.items() if n}


def _canonical(lines: pl.LazyFrame) -> pl.LazyFrame:
    """The lines in canonical columns; a part is named as one where its whole is there."""
    table = chart.load().values()
    places = pl.LazyFrame(
        {
            "code": [line.code for line in table],
            "etat": [line.etat for line in table],
            "parent": [line.parent or None for line in table],
            "ordre": [line.ordre for line in table],
            "seul": [line.libelle_fr for line in table],
            "dont": [line.as_part for line in table],
            "compte": [line.is_count for line in table],
        }
    )
    placed = lines.join(places, on="code", how="left", maintain_order="left")
    wholes = (
        placed.filter(pl.col("code").is_in({line.parent for line in table}))
        .select(*_COMPANY, parent="code", whole=pl.lit(True))
    )  # fmt: skip
    parts = placed.filter(pl.col("parent").is_not_null())
    named = pl.concat(
        [
            placed.filter(pl.col("parent").is_null()).with_columns(whole=pl.lit(False)),
            parts.join(wholes, on=[*_COMPANY, "parent"], how="left", maintain_order="left"),
        ]
    )
    group = pl.col("groupe")
    label = (
        pl.when("whole").then("dont").otherwise("seul")
        + pl.when("calcul").then(pl.lit(COMPUTED)).otherwise(pl.lit(""))
        + pl.when(group).then(pl.lit(OF_GROUP)).otherwise(pl.lit(""))
    )
    scale = pl.when("compte").then(1.0).otherwise("echelle")
    return named.select(
        "iso2",
        "id",
        "exercice",
        "etat",
        pl.col("code") + pl.when(group).then(pl.lit(GROUP)).otherwise(pl.lit("")),
        label.alias("libelle"),
        (pl.col("nombre") * scale).alias("valeur"),
        pl.when(~pl.col("compte")).then("devise").alias("devise"),
        pl.col("ordre") + pl.when(group).then(GROUP_PLACES).otherwise(0),
    ).select(pl.col(name).cast(dtype) for name, dtype in COMPTES.items())


def unknown_names(left_out: pl.LazyFrame, most: int) -> tuple[str, ...]:
    """The commonest elements that nobody mapped, with their counts."""
    found = (
        left_out.filter(pl.col("raison") == UNKNOWN)
        .group_by(ELEMENT)
        .len()
        .sort("len", ELEMENT, descending=[True, False])
        .head(most)
        .collect(engine="streaming")
    )
    return tuple(f"{element} ({n})" for element, n in found.iter_rows())


def tally(rows: pl.LazyFrame) -> dict[str, int]:
    """The count of each reason."""
    found = rows.group_by("raison").len().sort("raison").collect(engine="streaming")
    return {why: int(n) for why, n in found.iter_rows()}
