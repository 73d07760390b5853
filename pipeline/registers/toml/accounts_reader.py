"""The reader of declared filed accounts: published tables become statement lines.

The steps: the rows of each file (`main_rows`), their filings (`filings`), the lines of the
filings that count, and the account of every row. A row is a filing in a table with a column per amount,
and an amount in a table with a row per amount.

Elements are brought to the chart, amounts to numbers. The names of elements are compared folded (contract B15). Of
equal amounts of one line the first is kept, of different ones that of the first element in `seeds/elements.csv`, then
the first row. What gives no line is counted by its reason, and elements that nobody mapped are named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.canonical import COMPTES, GROUP, InputError
from pipeline.registers.accounts import chart
from pipeline.registers.accounts.chart import GROUP_PLACES, Taxonomy
from pipeline.registers.accounts.statement import (
    COMPUTED,
    MONTHS,
    MOST_MONTHS,
    OF_GROUP,
    UNLIKELY_LENGTH,
)
from pipeline.registers.register import (
    EXAMPLES,
    REJECTED,
    FileDate,
    RegisterRows,
    RowCounts,
    reason_counts,
    row_count,
)
from pipeline.registers.toml import edition, filings
from pipeline.registers.toml.declaration import Declaration, FiledAccounts, Legend, Sum
from pipeline.registers.toml.filings import (
    ELEMENT,
    KEY,
    LENGTH,
    OWN,
    REPLACED,
    VALUE,
    StagedFile,
    chosen_rows,
    repeated_keys,
)
from pipeline.registers.toml.main_rows import store_rows
from pipeline.registers.toml.source_file import ROW, FilePart
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
_LINE: Final = (
    *_COMPANY, *_PLACE, "devise", "echelle", "is_row", "code", "choix", "nombre", "calcul",
)  # fmt: skip
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
        unlikely: fiscal years whose length cannot be true.
    """

    kept: pl.LazyFrame
    left_out: pl.LazyFrame
    repeated: Mapping[str, int]
    unlikely: int


def read(
    declared: Declaration,
    rows: Sequence[tuple[FilePart, pl.LazyFrame]],
    parts: Sequence[FilePart],
    work: Path,
    detail: Mapping[str, int],
) -> RegisterRows:
    """The lines and the account of the main `rows` of each file; `parts` are all files."""
    staged = [
        filings.stage(declared, part, rank, frame, work) for rank, (part, frame) in enumerate(rows)
    ]
    gone = filings.replaced_filings(staged)
    legend = declared.statements.legend if declared.statements else None
    legends = [part for part in parts if legend and part.kind.name == legend.file]
    lines = _read_lines(declared, staged, legends, gone, work)
    return RegisterRows(
        stems=tuple(dict.fromkeys(file.part.stem for file in staged)),
        kept=lines.kept,
        rejected=_rejected_rows(staged, lines),
        counts=_counts(staged, gone, lines, detail),
        dates=_dates(staged),
    )


def _dates(staged: Sequence[StagedFile]) -> dict[Path, FileDate]:
    """The dates of the files: in their names, else their newest closing date."""
    closings = pl.concat(file.rows.select("rank", "cloture") for file in staged)
    return edition.dates(closings, [file.part for file in staged], "cloture")


def _rejected_rows(staged: Sequence[StagedFile], lines: AccountLines) -> pl.LazyFrame:
    """The rejected rows, in the columns of REJECTED."""
    refused = [
        file.rows.filter(
            pl.col("drop_reason").is_null() & pl.col("reject_reason").is_not_null()
        ).select("fichier", ROW, "id", pl.lit(None, pl.String).alias("nom"),
                 pl.col("reject_reason").alias("motif"), "detail")
        for file in staged
    ]  # fmt: skip
    unread = lines.left_out.filter(pl.col("is_row") & (pl.col("raison") == UNREADABLE)).select(
        "fichier", ROW, "id", pl.lit(None, pl.String).alias("nom"),
        pl.col("raison").alias("motif"), pl.col(filings.VALUE).alias("detail"),
    )  # fmt: skip
    return pl.concat([*refused, unread]).select(
        pl.col(name).cast(dtype) for name, dtype in REJECTED.items()
    )


def _counts(
    staged: Sequence[StagedFile],
    gone: pl.LazyFrame,
    lines: AccountLines,
    detail: Mapping[str, int],
) -> RowCounts:
    read = sum(row_count(file.rows) for file in staged)
    rejected = reason_counts(_rejected_rows(staged, lines), "motif")
    dropped = _count_dropped(staged, gone)
    of_rows = reason_counts(lines.left_out.filter("is_row"), "raison")
    dropped |= {why: n for why, n in of_rows.items() if why != UNREADABLE}
    dropped |= lines.repeated
    of_cells = reason_counts(lines.left_out.filter(~pl.col("is_row")), "raison")
    noted = _notes(staged) | of_cells
    if lines.unlikely:
        noted[UNLIKELY_LENGTH] = lines.unlikely
    names = _unknown_names(lines.left_out, 4 * EXAMPLES)
    return RowCounts(
        read=read,
        kept=read - sum(dropped.values()) - sum(rejected.values()),
        dropped=dict(sorted(dropped.items())),
        rejected=rejected,
        noted=noted,
        examples={UNKNOWN: names} if names else {},
        detail={**_detail(lines), **detail},
    )


def _count_dropped(staged: Sequence[StagedFile], gone: pl.LazyFrame) -> dict[str, int]:
    """The rows of the files that give nothing, before their amounts are looked at."""
    dropped: dict[str, int] = {}
    for file in staged:
        chosen = filings.chosen_rows(file, gone)
        none = [pl.col(name).is_null() for name in file.values] or [pl.lit(False)]
        blank = chosen.filter(pl.all_horizontal(none))
        found = reason_counts(file.rows, "drop_reason")
        found[REPLACED] = row_count(filings.good_rows(file)) - row_count(chosen)
        found[NO_AMOUNT] = row_count(blank)
        for why, count in found.items():
            if count:
                dropped[why] = dropped.get(why, 0) + count
    return dropped


def _notes(staged: Sequence[StagedFile]) -> dict[str, int]:
    noted: dict[str, int] = {}
    for file in staged:
        kept = file.rows.filter(pl.col("drop_reason").is_null() & pl.col("note").is_not_null())
        for why, count in reason_counts(kept, "note").items():
            noted[why] = noted.get(why, 0) + count
        if file.part.is_cp1252:
            noted[f"{file.part.name} en cp1252"] = 1
    return noted


def _detail(lines: AccountLines) -> dict[str, int]:
    counted = lines.kept.select(
        companies=pl.struct("iso2", "id").hash().n_unique(),
        years=pl.struct("iso2", "id", "exercice").hash().n_unique(),
        lines=pl.len(),
    ).collect(engine="streaming")
    companies, years, written = counted.row(0)
    return {"sociétés": companies, "exercices": years, "lignes écrites": written}


# -- the lines of the filings that count ----------------------------------------------


def _read_lines(
    declared: Declaration,
    staged: Sequence[StagedFile],
    legends: Sequence[FilePart],
    gone: pl.LazyFrame,
    work: Path,
) -> AccountLines:
    """The lines of the filings of all files but those that are `gone`.

    Raises:
        InputError: a file without its legend, a sum that is no line of the chart.
    """
    accounts = declared.statements
    assert accounts is not None
    if unknown := sorted(accounts.sums.keys() - chart.load().keys()):
        raise InputError(
            f"{declared.source}.toml [statements.sums] {unknown[0]}: no line of"
            f" {chart.POSTES.name}; add it there"
        )
    amounts = pl.concat(_amounts(file, gone) for file in staged)
    if accounts.legend:
        amounts = _label_elements(amounts, accounts.legend, staged, legends)
    amounts = _numbers(store_rows(amounts, work / "montants.parquet"))
    mapping = _mapping(declared.source, accounts.sums, amounts)
    mapped = amounts.join(mapping, on=ELEMENT, how="left", maintain_order="left", nulls_equal=True)
    why = pl.coalesce(
        "raison",
        pl.when(pl.col(VALUE).is_null()).then(pl.lit(NO_AMOUNT)),
        pl.when(pl.col("nombre").is_null()).then(pl.lit(UNREADABLE)),
    )
    judged = mapped.with_columns(raison=why)
    good = judged.filter(pl.col("raison").is_null() & pl.col("code").is_not_null())
    lines, repeated = _one_each(
        pl.concat([_apply_signs(good), *_sum_lines(judged, accounts.sums)]), work
    )
    months, unlikely = _lengths(accounts, staged, gone, lines)
    columns = lines.collect_schema().names()
    return AccountLines(
        kept=_canonical_lines(pl.concat([lines, months.select(columns)]), work),
        left_out=store_rows(
            judged.filter(pl.col("raison").is_not_null()), work / "montants-ecartes.parquet"
        ),
        repeated=repeated,
        unlikely=unlikely,
    )


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


def _lengths(
    accounts: FiledAccounts, staged: Sequence[StagedFile], gone: pl.LazyFrame, lines: pl.LazyFrame
) -> tuple[pl.LazyFrame, int]:
    """The fiscal years among `lines` that have not twelve months, as lines; the count of impossible lengths.

    Of the lengths of several parts the longest counts. Only these years are in memory.
    """
    if accounts.start is None:
        return lines.clear(), 0
    rows = pl.concat(
        chosen_rows(file, gone).select(*_COMPANY, *_PLACE, pl.col(LENGTH).alias("nombre"))
        for file in staged
    )
    unlike = rows.filter(pl.col("nombre") != 12).select(_COMPANY).unique()
    keys = unlike.collect(engine="streaming").lazy()
    there = lines.join(keys, on=_COMPANY, how="semi").select(_COMPANY).unique()
    found = (
        rows.join(there, on=_COMPANY, how="semi")
        .group_by(_COMPANY)
        .agg(*(pl.col(name).min() for name in _PLACE), nombre=pl.col("nombre").max() * 1.0)
        .filter(pl.col("nombre") != 12)
        .sort("rank", ROW, *_COMPANY)
        .collect(engine="streaming")
    )
    likely = found.lazy().filter(pl.col("nombre").is_between(1, MOST_MONTHS))
    made = likely.with_columns(
        devise=pl.lit(None, pl.String),
        echelle=pl.lit(1.0),
        is_row=pl.lit(False),
        code=pl.lit(MONTHS),
        choix=pl.lit(_SUMS, pl.Int64),
        calcul=pl.lit(False),
    )
    return made, found.height - made.select(pl.len()).collect().item()


def _label_elements(
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
    known = chart.load_elements(source)
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


def _apply_signs(good: pl.LazyFrame) -> pl.LazyFrame:
    """Amounts with the sign of their line; + 0.0 makes -0.0 a 0.0."""
    number = (
        pl.when(pl.col("signe") == "-1")
        .then(-pl.col("nombre"))
        .when(pl.col("signe") == "abs")
        .then(pl.col("nombre").abs())
        .otherwise(pl.col("nombre"))
    )
    return good.with_columns((number + 0.0).alias("nombre"), calcul=pl.lit(False)).select(_LINE)


def _sum_lines(judged: pl.LazyFrame, sums: Mapping[str, Sum]) -> list[pl.LazyFrame]:
    """The lines that are sums of elements, in the order of their first rows."""
    occurring = judged.select(pl.col(ELEMENT).unique()).collect(engine="streaming")[ELEMENT]
    elements = {name: fold(name) for name in occurring.drop_nulls()}
    return [_sum(judged, code, added, elements) for code, added in sums.items()]


def _sum(judged: pl.LazyFrame, code: str, added: Sum, elements: Mapping[str, str]) -> pl.LazyFrame:
    plus, minus = set(map(fold, added.plus)), set(map(fold, added.minus))
    parts = [name for name, folded in elements.items() if folded in plus | minus]
    taken = pl.col(ELEMENT).is_in([name for name in parts if elements[name] in minus])
    signed = pl.when(taken).then(-pl.col("nombre")).otherwise(pl.col("nombre"))
    fewest = len(plus | minus) if added.needs_all else 1
    return (
        judged.filter(pl.col(ELEMENT).is_in(parts) & pl.col("nombre").is_not_null())
        .group_by(_COMPANY)
        .agg(
            *(pl.col(name).min() for name in (*_PLACE, "devise", "echelle")),
            nombre=signed.sort_by(ELEMENT).sum() + 0.0,
            calcul=(pl.col("nombre") != 0).sum() > 1,
            there=pl.col(ELEMENT).n_unique(),
        )
        .filter(pl.col("there") >= fewest)
        .sort("rank", ROW, *_COMPANY)
        .with_columns(is_row=pl.lit(False), code=pl.lit(code), choix=pl.lit(_SUMS, pl.Int64))
        .select(_LINE)
    )


def _one_each(lines: pl.LazyFrame, work: Path) -> tuple[pl.LazyFrame, dict[str, int]]:
    """One amount per line of the accounts of a year, and the count of the rows that repeat one.

    Only the lines that several amounts give are grouped: few, where a filing is a row.
    """
    order = ["choix", "rank", ROW]
    keyed = lines.with_columns(pl.struct(*_COMPANY, "code").hash().alias(KEY))
    all_lines = store_rows(keyed, work / "postes.parquet")
    repeats = pl.col(KEY).is_in(repeated_keys(all_lines).implode())
    rivals = all_lines.filter(repeats)
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
    columns = [*_COMPANY, "code", *names]
    single = store_rows(all_lines.filter(~repeats).select(columns), work / "postes-seuls.parquet")
    found = pl.concat([single, best.lazy().select(columns)])
    return found, {why: n for why, n in repeated.items() if n}


def _canonical_lines(lines: pl.LazyFrame, work: Path) -> pl.LazyFrame:
    """The lines in canonical columns; a part is named as one where its whole is there.

    Both kinds of lines are stored, since a plan that used the same lines twice would hold them.
    """
    placed = lines.join(_places(), on="code", how="left", maintain_order="left")
    parents = {line.parent for line in chart.load().values()}
    wholes = placed.filter(pl.col("code").is_in(parents)).select(
        *_COMPANY, parent="code", whole=pl.lit(True)
    )
    parts = placed.filter(pl.col("parent").is_not_null())
    hung = parts.join(wholes, on=[*_COMPANY, "parent"], how="left", maintain_order="left")
    alone = placed.filter(pl.col("parent").is_null()).with_columns(whole=pl.lit(False))
    named = pl.concat(
        [
            store_rows(alone, work / "postes-entiers.parquet"),
            store_rows(hung, work / "postes-parties.parquet"),
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


def _places() -> pl.LazyFrame:
    """What the chart says of each code. Joined: Polars 2.1 does not stream `replace_strict`."""
    table = chart.load().values()
    return pl.LazyFrame(
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


def _unknown_names(left_out: pl.LazyFrame, most: int) -> tuple[str, ...]:
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
