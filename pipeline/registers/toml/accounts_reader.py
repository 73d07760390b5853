"""The reader of declared filed accounts: published tables become statement lines.

The steps: read the rows of each file (`main_rows`), choose among their filings (`filings`), turn the amounts of the
chosen filings into lines, and count every row. A row is a filing in a table with a column per amount,
and an amount in a table with a row per amount.

Elements are mapped to the chart, and amounts become numbers. The names of elements are compared folded (contract B15).
Of several amounts for one line, the amount of the first element in `seeds/elements.csv` is kept; of several amounts of
that element, the amount of the first row. Amounts without a line are counted by reason, and unmapped elements are
named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.canonical import COMPTES, GROUP_SUFFIX, InputError
from pipeline.registers.accounts import chart
from pipeline.registers.accounts.chart import GROUP_PLACE_OFFSET, Taxonomy
from pipeline.registers.accounts.statement import (
    COMPUTED,
    MONTHS_LINE,
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
    FILING_PART,
    KEY,
    LENGTH,
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
# The columns that identify the accounts of a year.
_YEAR_KEY: Final = ("iso2", "id", "exercice", "groupe")
# The columns with the file of a row, the number of the file in the import, and the number of the row.
_ROW_PLACE: Final = ("fichier", "rank", ROW)
# The currency and scale of an amount, whether it is a published row, and the name of its table.
_AMOUNT_CONTEXT: Final = ("devise", "echelle", "is_row", "stem")
# The columns of a line before it becomes canonical: `nombre` is its amount as a number, `choix` its rank among the
# amounts for the same line (the lowest wins), `calcul` whether it is a sum.
_LINE_COLUMNS: Final = (
    *_YEAR_KEY,
    *_ROW_PLACE,
    "devise",
    "echelle",
    "is_row",
    "code",
    "choix",
    "nombre",
    "calcul",
)
# The `choix` of a sum: higher than that of every element, so a published amount wins.
_SUM_RANK: Final = 1_000_000
# The columns of the table that maps elements to lines; `choix` is the rank of the element, the lowest wins.
_MAPPING_COLUMNS: Final = {
    ELEMENT: pl.String(),
    "code": pl.String(),
    "signe": pl.String(),
    "choix": pl.Int64(),
    "raison": pl.String(),
}


@dataclass(frozen=True, slots=True)
class AccountLines:
    """The lines in canonical columns, and the amounts without a line.

    Attributes:
        left_out: amounts without a line, with the reason in `raison` and the file and row; `is_row` is true if the
            amount is a row of the published table.
        repeated: the number of published rows whose line is taken from another row, by reason.
        unlikely: the number of fiscal years of an implausible length.
    """

    canonical: pl.LazyFrame
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
    """Turn the main `rows` of each file into lines, and count every row.

    Args:
        parts: all published files, which include the legends.
        detail: counts of things that are not rows, for the report.
    """
    staged = [
        filings.stage(declared, part, rank, frame, work) for rank, (part, frame) in enumerate(rows)
    ]
    replaced = filings.replaced_filings(staged)
    legend = declared.statements.legend if declared.statements else None
    legends = [part for part in parts if legend and part.kind.name == legend.file]
    lines = _read_lines(declared, staged, legends, replaced, work)
    return RegisterRows(
        stems=tuple(dict.fromkeys(file.part.stem for file in staged)),
        kept=lines.canonical,
        rejected=_rejected_rows(staged, lines),
        counts=_counts(staged, replaced, lines, detail),
        dates=_dates(staged),
    )


def _dates(staged: Sequence[StagedFile]) -> dict[Path, FileDate]:
    """The date of each file: the date in its name, else its newest closing date."""
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
    replaced: pl.LazyFrame,
    lines: AccountLines,
    detail: Mapping[str, int],
) -> RowCounts:
    """Count every published row as kept, dropped or rejected, and the amounts without a line as notes."""
    read = sum(row_count(file.rows) for file in staged)
    rejected = reason_counts(_rejected_rows(staged, lines), "motif")
    dropped = _count_dropped(staged, replaced)
    # In a table with a row per amount, an amount without a line is a dropped or rejected row. In a table with a column
    # per amount, the row is kept, and the amount is counted as a note.
    reasons_of_rows = reason_counts(lines.left_out.filter("is_row"), "raison")
    dropped |= {why: n for why, n in reasons_of_rows.items() if why != UNREADABLE}
    dropped |= lines.repeated
    reasons_of_cells = reason_counts(lines.left_out.filter(~pl.col("is_row")), "raison")
    noted = _count_noted(staged) | reasons_of_cells
    if lines.unlikely:
        noted[UNLIKELY_LENGTH] = lines.unlikely
    unknown_elements = _unknown_names(lines.left_out, 4 * EXAMPLES)
    return RowCounts(
        read=read,
        kept=read - sum(dropped.values()) - sum(rejected.values()),
        dropped=dict(sorted(dropped.items())),
        rejected=rejected,
        noted=noted,
        examples={UNKNOWN: unknown_elements} if unknown_elements else {},
        detail={**_totals(lines), **detail},
    )


def _count_dropped(staged: Sequence[StagedFile], replaced: pl.LazyFrame) -> dict[str, int]:
    """The number of rows that are dropped before their amounts are read, by reason."""
    dropped: dict[str, int] = {}
    for file in staged:
        chosen = filings.chosen_rows(file, replaced)
        blanks = [pl.col(name).is_null() for name in file.values] or [pl.lit(False)]
        blank = chosen.filter(pl.all_horizontal(blanks))
        counts = reason_counts(file.rows, "drop_reason")
        counts[REPLACED] = row_count(filings.good_rows(file)) - row_count(chosen)
        counts[NO_AMOUNT] = row_count(blank)
        for reason, count in counts.items():
            if count:
                dropped[reason] = dropped.get(reason, 0) + count
    return dropped


def _count_noted(staged: Sequence[StagedFile]) -> dict[str, int]:
    """The number of rows under each declared note, and of lines in another encoding."""
    noted: dict[str, int] = {}
    for file in staged:
        rows = file.rows.filter(pl.col("drop_reason").is_null() & pl.col("note").is_not_null())
        for note, count in reason_counts(rows, "note").items():
            noted[note] = noted.get(note, 0) + count
        noted |= file.part.encoding_note
    return noted


def _totals(lines: AccountLines) -> dict[str, int]:
    """The numbers of companies, of their fiscal years and of lines, by their names in the report."""
    totals = lines.canonical.select(
        companies=pl.struct("iso2", "id").hash().n_unique(),
        years=pl.struct("iso2", "id", "exercice").hash().n_unique(),
        lines=pl.len(),
    ).collect(engine="streaming")
    companies, years, line_count = totals.row(0)
    return {"sociétés": companies, "exercices": years, "lignes écrites": line_count}


# -- the lines of the chosen filings ---------------------------------------------------


def _read_lines(
    declared: Declaration,
    staged: Sequence[StagedFile],
    legends: Sequence[FilePart],
    replaced: pl.LazyFrame,
    work: Path,
) -> AccountLines:
    """The lines of the filings of all files, without the filings in `replaced`.

    Raises:
        InputError: a file without its legend, or a declared sum for a line that is not on the chart.
    """
    accounts = declared.statements
    assert accounts is not None
    if unknown := sorted(accounts.sums.keys() - chart.load_lines().keys()):
        raise InputError(
            f"{declared.source}.toml [statements.sums] {unknown[0]}: no line of"
            f" {chart.POSTES.name}; add it there"
        )
    amounts = pl.concat(_amounts(file, replaced) for file in staged)
    if accounts.legend:
        amounts = _label_elements(amounts, accounts.legend, staged, legends)
    amounts = _parse_amounts(store_rows(amounts, work / "montants.parquet"))
    mapping = _mapping(declared.source, accounts.sums, amounts)
    mapped = amounts.join(mapping, on=ELEMENT, how="left", maintain_order="left", nulls_equal=True)
    # The reason why an amount gives no line; null for an amount that gives a line.
    reason = pl.coalesce(
        "raison",
        pl.when(pl.col(VALUE).is_null()).then(pl.lit(NO_AMOUNT)),
        pl.when(pl.col("nombre").is_null()).then(pl.lit(UNREADABLE)),
    )
    with_reasons = mapped.with_columns(raison=reason)
    usable_amounts = with_reasons.filter(pl.col("raison").is_null() & pl.col("code").is_not_null())
    lines, repeated = _drop_repeated_lines(
        pl.concat([_apply_signs(usable_amounts), *_sum_lines(with_reasons, accounts.sums)]), work
    )
    months, unlikely = _month_lines(accounts, staged, replaced, lines)
    columns = lines.collect_schema().names()
    return AccountLines(
        canonical=_canonical_lines(pl.concat([lines, months.select(columns)]), work),
        left_out=store_rows(
            with_reasons.filter(pl.col("raison").is_not_null()), work / "montants-ecartes.parquet"
        ),
        repeated=repeated,
        unlikely=unlikely,
    )


def _amounts(file: StagedFile, replaced: pl.LazyFrame) -> pl.LazyFrame:
    """One row per amount of the chosen rows of a file; blank cells of a table with a column per amount are left out."""
    rows = chosen_rows(file, replaced).with_columns(
        is_row=pl.lit(not file.values), stem=pl.lit(file.part.stem)
    )
    index = [*FILING_PART, *_ROW_PLACE, *_AMOUNT_CONTEXT]
    if not file.values:
        return rows.select(*index, ELEMENT, VALUE)
    amount_rows = rows.unpivot(
        on=list(file.values), index=index, variable_name=ELEMENT, value_name=VALUE
    )
    return amount_rows.filter(pl.col(VALUE).is_not_null())


def _month_lines(
    accounts: FiledAccounts,
    staged: Sequence[StagedFile],
    replaced: pl.LazyFrame,
    lines: pl.LazyFrame,
) -> tuple[pl.LazyFrame, int]:
    """The lines with the months of fiscal years that have not twelve, and the number of years of an implausible length.

    Only years that occur in `lines` count. If the parts of the accounts of a year have several lengths, the longest is
    used. Memory holds only the years that have not twelve months in some part.
    """
    if accounts.start is None:
        return lines.clear(), 0
    rows = pl.concat(
        chosen_rows(file, replaced).select(*_YEAR_KEY, *_ROW_PLACE, pl.col(LENGTH).alias("nombre"))
        for file in staged
    )
    not_twelve = rows.filter(pl.col("nombre") != 12).select(_YEAR_KEY).unique()
    years_not_twelve = not_twelve.collect(engine="streaming").lazy()
    years_with_lines = (
        lines.join(years_not_twelve, on=_YEAR_KEY, how="semi").select(_YEAR_KEY).unique()
    )
    longest_lengths = (
        rows.join(years_with_lines, on=_YEAR_KEY, how="semi")
        .group_by(_YEAR_KEY)
        .agg(*(pl.col(name).min() for name in _ROW_PLACE), nombre=pl.col("nombre").max() * 1.0)
        .filter(pl.col("nombre") != 12)
        .sort("rank", ROW, *_YEAR_KEY)
        .collect(engine="streaming")
    )
    plausible_lengths = longest_lengths.lazy().filter(pl.col("nombre").is_between(1, MOST_MONTHS))
    month_lines = plausible_lengths.with_columns(
        devise=pl.lit(None, pl.String),
        echelle=pl.lit(1.0),
        is_row=pl.lit(False),
        code=pl.lit(MONTHS_LINE),
        choix=pl.lit(_SUM_RANK, pl.Int64),
        calcul=pl.lit(False),
    )
    return month_lines, longest_lengths.height - month_lines.select(pl.len()).collect().item()


def _label_elements(
    amounts: pl.LazyFrame,
    legend: Legend,
    staged: Sequence[StagedFile],
    legends: Sequence[FilePart],
) -> pl.LazyFrame:
    """Replace the names of elements by the labels in the legend whose file has the same name as the table."""
    labelled_stems = {part.stem for part in legends}
    if missing := sorted({file.part.stem for file in staged} - labelled_stems):
        raise InputError(
            f"no {legend.file} of {missing[0]} among those given: it says what its columns are,"
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
    with_labels = amounts.with_columns(colonne=pl.col(ELEMENT).str.to_lowercase()).join(
        labels, on=["stem", "colonne"], how="left", maintain_order="left"
    )
    return with_labels.with_columns(pl.coalesce("label", ELEMENT).alias(ELEMENT)).drop(
        "colonne", "label"
    )


def _parse_amounts(amounts: pl.LazyFrame) -> pl.LazyFrame:
    """Add the column `nombre`: the published text of an amount as a number; null if it is not a finite number."""
    number = pl.col(VALUE).cast(pl.Float64, strict=False)
    return amounts.with_columns(nombre=pl.when(number.is_finite()).then(number))


def _mapping(source: str, sums: Mapping[str, Sum], amounts: pl.LazyFrame) -> pl.LazyFrame:
    """The line, sign and rank of each element in `amounts`, or the reason why it has no line."""
    taxonomy = chart.load_elements(source)
    folded = {fold(name): element for name, element in taxonomy.lines.items()}
    summed_elements = {
        fold(name) for terms in sums.values() for name in (*terms.plus, *terms.minus)
    }
    published_names = amounts.select(pl.col(ELEMENT).unique()).collect(engine="streaming")[ELEMENT]
    rows: list[dict[str, object]] = []
    for name in published_names:
        mapped = folded.get(fold(name or ""))
        row: dict[str, object] = {ELEMENT: name}
        if mapped is not None:
            row |= {"code": mapped.line.code, "signe": mapped.signe, "choix": mapped.rank}
        elif fold(name or "") not in summed_elements:
            row["raison"] = _reason_without_line(name, taxonomy)
        rows.append(row)
    return pl.LazyFrame(rows, schema=_MAPPING_COLUMNS)


def _reason_without_line(element: str | None, taxonomy: Taxonomy) -> str:
    """The reason why an element has no line."""
    if element is None:
        return UNNAMED
    return taxonomy.reason(element) or UNKNOWN


def _apply_signs(mapped_amounts: pl.LazyFrame) -> pl.LazyFrame:
    """The mapped amounts as lines, with the sign of their line (`signe`); + 0.0 turns -0.0 into 0.0."""
    number = (
        pl.when(pl.col("signe") == "-1")
        .then(-pl.col("nombre"))
        .when(pl.col("signe") == "abs")
        .then(pl.col("nombre").abs())
        .otherwise(pl.col("nombre"))
    )
    return mapped_amounts.with_columns((number + 0.0).alias("nombre"), calcul=pl.lit(False)).select(
        _LINE_COLUMNS
    )


def _sum_lines(amounts: pl.LazyFrame, sums: Mapping[str, Sum]) -> list[pl.LazyFrame]:
    """For each declared sum, the lines that are this sum, in the order of their first rows."""
    published_names = amounts.select(pl.col(ELEMENT).unique()).collect(engine="streaming")[ELEMENT]
    elements = {name: fold(name) for name in published_names.drop_nulls()}
    return [_sum_line(amounts, code, declared_sum, elements) for code, declared_sum in sums.items()]


def _sum_line(
    amounts: pl.LazyFrame, code: str, declared_sum: Sum, elements: Mapping[str, str]
) -> pl.LazyFrame:
    """The lines `code`, each the sum of its elements in the accounts of one company and year.

    Args:
        elements: the published name of each element, and its folded name.
    """
    plus, minus = set(map(fold, declared_sum.plus)), set(map(fold, declared_sum.minus))
    summed_names = [name for name, folded in elements.items() if folded in plus | minus]
    is_subtracted = pl.col(ELEMENT).is_in(
        [name for name in summed_names if elements[name] in minus]
    )
    signed = pl.when(is_subtracted).then(-pl.col("nombre")).otherwise(pl.col("nombre"))
    # An element that is repeated counts once, with its first amount, as in `_drop_repeated_lines`.
    order = (ELEMENT, "rank", ROW)
    is_first = pl.col(ELEMENT).sort_by(order).is_first_distinct()
    fewest_elements = len(plus | minus) if declared_sum.needs_all else 1
    return (
        amounts.filter(pl.col(ELEMENT).is_in(summed_names) & pl.col("nombre").is_not_null())
        .group_by(_YEAR_KEY)
        .agg(
            *(pl.col(name).min() for name in (*_ROW_PLACE, "devise", "echelle")),
            nombre=signed.sort_by(order).filter(is_first).sum() + 0.0,
            calcul=(pl.col("nombre") != 0).sort_by(order).filter(is_first).sum() > 1,
            element_count=pl.col(ELEMENT).n_unique(),
        )
        .filter(pl.col("element_count") >= fewest_elements)
        .sort("rank", ROW, *_YEAR_KEY)
        .with_columns(is_row=pl.lit(False), code=pl.lit(code), choix=pl.lit(_SUM_RANK, pl.Int64))
        .select(_LINE_COLUMNS)
    )


def _drop_repeated_lines(lines: pl.LazyFrame, work: Path) -> tuple[pl.LazyFrame, dict[str, int]]:
    """Keep one amount per line of the accounts of a year, and count the rows that repeat a line, by reason.

    Only lines with several amounts are grouped, to save memory: they are few if each row is a filing.
    """
    order = ["choix", "rank", ROW]
    keyed = lines.with_columns(pl.struct(*_YEAR_KEY, "code").hash().alias(KEY))
    all_lines = store_rows(keyed, work / "postes.parquet")
    repeats = pl.col(KEY).is_in(repeated_keys(all_lines).implode())
    rivals = all_lines.filter(repeats)
    value_columns = [name for name in lines.collect_schema() if name not in (*_YEAR_KEY, "code")]
    is_published = pl.col("choix") < _SUM_RANK
    first_amounts = (
        rivals.group_by(*_YEAR_KEY, "code")
        .agg(
            *(pl.col(name).sort_by(order).first() for name in value_columns),
            rows=pl.col("is_row").sum(),
            contradictions=(
                is_published & (pl.col("nombre") != pl.col("nombre").sort_by(order).first())
            ).sum(),
        )
        .sort("rank", ROW, *_YEAR_KEY, "code")
        .collect(engine="streaming")
    )
    repeated_rows = int(first_amounts["rows"].sum()) - int(first_amounts["is_row"].sum())
    contradicted_count = int(first_amounts["contradictions"].sum())
    repeated = {REPEATED: repeated_rows - contradicted_count, CONTRADICTED: contradicted_count}
    columns = [*_YEAR_KEY, "code", *value_columns]
    single = store_rows(all_lines.filter(~repeats).select(columns), work / "postes-seuls.parquet")
    distinct = pl.concat([single, first_amounts.lazy().select(columns)])
    return distinct, {why: n for why, n in repeated.items() if n}


def _canonical_lines(lines: pl.LazyFrame, work: Path) -> pl.LazyFrame:
    """The lines in canonical columns; a part is labelled as a part (`dont …`) if its parent is in the same accounts.

    Lines with and without a parent are stored in separate files, because Polars would hold the lines in memory if one
    plan used them twice.
    """
    with_chart = lines.join(_chart_table(), on="code", how="left", maintain_order="left")
    parents = {line.parent for line in chart.load_lines().values()}
    parent_lines = with_chart.filter(pl.col("code").is_in(parents)).select(
        *_YEAR_KEY, parent="code", whole=pl.lit(True)
    )
    lines_with_parent = with_chart.filter(pl.col("parent").is_not_null())
    joined_to_parent = lines_with_parent.join(
        parent_lines, on=[*_YEAR_KEY, "parent"], how="left", maintain_order="left"
    )
    lines_without_parent = with_chart.filter(pl.col("parent").is_null()).with_columns(
        whole=pl.lit(False)
    )
    all_lines = pl.concat(
        [
            store_rows(lines_without_parent, work / "postes-entiers.parquet"),
            store_rows(joined_to_parent, work / "postes-parties.parquet"),
        ]
    )
    group = pl.col("groupe")
    label = (
        pl.when("whole").then("dont").otherwise("seul")
        + pl.when("calcul").then(pl.lit(COMPUTED)).otherwise(pl.lit(""))
        + pl.when(group).then(pl.lit(OF_GROUP)).otherwise(pl.lit(""))
    )
    # A line that is a count (`compte`), such as the number of employees, has neither currency nor scale.
    scale = pl.when("compte").then(1.0).otherwise("echelle")
    return all_lines.select(
        "iso2",
        "id",
        "exercice",
        "etat",
        pl.col("code") + pl.when(group).then(pl.lit(GROUP_SUFFIX)).otherwise(pl.lit("")),
        label.alias("libelle"),
        (pl.col("nombre") * scale).alias("valeur"),
        pl.when(~pl.col("compte")).then("devise").alias("devise"),
        pl.col("ordre") + pl.when(group).then(GROUP_PLACE_OFFSET).otherwise(0),
    ).select(pl.col(name).cast(dtype) for name, dtype in COMPTES.items())


def _chart_table() -> pl.LazyFrame:
    """The chart as a table to join by code, because Polars 2.1 does not stream `replace_strict`."""
    table = chart.load_lines().values()
    return pl.LazyFrame(
        {
            "code": [line.code for line in table],
            "etat": [line.etat for line in table],
            "parent": [line.parent or None for line in table],
            "ordre": [line.ordre for line in table],
            "seul": [line.libelle_fr for line in table],
            "dont": [line.label_below_parent for line in table],
            "compte": [line.is_count for line in table],
        }
    )


def _unknown_names(left_out: pl.LazyFrame, most_names: int) -> tuple[str, ...]:
    """The most common unmapped elements, with their counts."""
    counts = (
        left_out.filter(pl.col("raison") == UNKNOWN)
        .group_by(ELEMENT)
        .len()
        .sort("len", ELEMENT, descending=[True, False])
        .head(most_names)
        .collect(engine="streaming")
    )
    return tuple(f"{element} ({n})" for element, n in counts.iter_rows())
