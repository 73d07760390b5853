"""One country, from its rows in the input to its shard: the five steps of `build`.

1. **Read**: the files of the country's own register and its complements, and the companies that objections name.
2. **Clean and reject**: clean the rows in pieces that fit into memory. Good rows go to temporary files, bad rows to the
   file of rejected rows.
3. **Statement lines**: select the lines to store and the lines to withhold. Bad lines go to the file of rejected lines.
4. **Derive and sort**: add the derived columns, piece by piece; make the input of the shard writer, in layout order.
5. **Write**: write the shard and its receipt.

Steps pass files to each other; only the searched columns of all rows are in memory at once. Each step returns its part
of the report, and the sum of the parts accounts for every row and line. Each step calls `progress` with the number of
its rows, multiplied by the share of the step in the time for a row. The rules about values are in `pipeline/stages`,
one module per subject.

A stage that loses a column, or a join that multiplies rows, would otherwise show only in the served data.
`require_columns` and `require_rows` stop the build in such a case, which is a fault of the build, not of its input.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from pipeline import canonical
from pipeline.canonical import COMPANIES, COMPTES
from pipeline.errors import BuildError
from pipeline.publishing import receipts, shard_input
from pipeline.publishing.receipts import BuiltCountry, Task
from pipeline.publishing.shard_input import Run
from pipeline.seeds import Seeds
from pipeline.stages import (
    complements,
    derived_fields,
    doubtful_accounts,
    identifiers,
    implausible_values,
    input_files,
    money,
    objections,
    personal_data,
    quality_report,
    rejections,
    sectors,
    statement_lines,
    statuses,
    text_cleaning,
)
from pipeline.stages.complements import Sources
from pipeline.stages.input_files import InputPart
from pipeline.stages.objections import Hidden
from pipeline.stages.quality_report import Quality
from pipeline.stages.rejections import REASON
from pipeline.workers.processes import AddProgress
from shards.codec.record import FIELDS
from shards.generations import generation_files, manifest
from shards.generations.reference import CellCount
from shards.ratios.accounts import NO_RATIOS, LastYearRatios
from shards.writing import writer
from shards.writing.writer import Columns

# The frame of a country without statement lines.
_NO_LINES: Final = pl.LazyFrame(schema={name: COMPTES[name] for name in statement_lines.LINES})
# The working columns that the input of the shard writer needs.
_WORKING_COLUMNS: Final = (sectors.DIVISION, sectors.GROUP, money.CAPITAL, money.ASSETS)
# If a larger share of the identifiers in an import does not have the form of the country, the import is refused.
_MOST_MISSHAPEN: Final = 0.5
_TRIAL_ROWS: Final = 100_000  # rows in memory at once while an import is tried (`refuse_import`)
# The share of cleaning, deriving and writing in the time for a row, for the progress bar; together they are 1.
_CLEAN_SHARE: Final = 0.15
_DERIVE_SHARE: Final = 0.25
_WRITE_SHARE: Final = 0.6


@dataclass(frozen=True, slots=True)
class _Rows:
    """The good rows of a country: the files of its register, and the rows of each complement, by source."""

    register: list[Path]
    complements: Mapping[str, pl.LazyFrame]


@dataclass(frozen=True, slots=True)
class _Lines:
    """The good statement lines of a country.

    Attributes:
        stored: the lines to store.
        weighed: all good lines, with the REASON why `doubtful_accounts` withholds a line, or null.
    """

    stored: pl.LazyFrame
    weighed: pl.LazyFrame


@dataclass(frozen=True, slots=True)
class _ShardInput:
    """The arguments of `writer.write`: the columns, records, statements and ratios of a country's companies."""

    columns: Columns
    records: Callable[[range], Iterator[bytes]]
    statements: Iterable[tuple[int, bytes]]
    ratios: LastYearRatios


def build(task: Task, progress: AddProgress) -> BuiltCountry:
    """Build one country: write its shard and its receipt into `task.done`.

    Raises:
        BuildError: a company appears twice, or too many rows are rejected.
        InputError: a file of the input is not canonical or cannot be read.
    """
    # A folder per attempt, because two workers can build a country at the same time after a cluster lost one of them.
    task = replace(task, work=Path(tempfile.mkdtemp(prefix=f"{task.iso2}-", dir=task.work)))
    # With a new objection (`unmet`), an empty country goes on to `_read`: it stops the build, because the objection
    # names a company that the input does not contain, so its identifier is probably wrong.
    if not task.companies and not task.comptes and not task.unmet:
        return _write(task, *_empty_input(task), progress)
    with canonical.name_unreadable(part.path for part in (*task.companies, *task.comptes)):
        sources, input_report = _read(task)
        rules = _rules(task.tables.seeds, task.tables.rates, task.iso2)
        rows, row_report = _clean(task, sources, rules, progress)
        lines, line_report = _select_lines(task, rows, rules)
        shard, company_report = _derive(task, rows, lines, progress)
    report = quality_report.country_quality((input_report, row_report, line_report, company_report))
    return _write(task, shard, report, progress)


def _empty_input(task: Task) -> tuple[_ShardInput, Quality]:
    """The input of the shard and the report of a country without rows; no step needs to run."""
    for path in task.rejected_files:
        path.unlink(missing_ok=True)
    columns = shard_input.columns(shard_input.NO_COMPANIES)
    empty = _ShardInput(columns, lambda _: iter(()), (), NO_RATIOS)
    return empty, Quality(renseignees=dict.fromkeys(quality_report.COUNTED, 0))


# -- 1. read -------------------------------------------------------------------------


def _read(task: Task) -> tuple[Sources, Quality]:
    """The sources of the country; and a report with the number of its rows, and of rows that objections remove.

    Raises:
        BuildError: a new objection matches no company, so its identifier is probably wrong.
    """
    sources = complements.country_sources(task.companies, task.iso2)
    if not task.hidden:
        return sources, Quality(lues=task.rows)
    rows = input_files.scan_country(task.companies, "companies", task.iso2)
    matched = objections.rows_per_company(rows, task.hidden)
    if unmatched := sorted(task.unmet - matched.keys()):
        raise BuildError(
            f"objections: {task.iso2} has no company {unmatched[0]!r} in the input; correct its "
            "identifiant, or give it a date in retrait"
        )
    left_out = sum(matched.get(company, 0) for company in objections.hidden_companies(task.hidden))
    return sources, Quality(
        lues=task.rows,
        ecartees={objections.LEFT_OUT: left_out} if left_out else {},
        oppositions=objections.count_hidden(task.hidden, matched),
    )


# -- 2. clean and reject -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules of the tables of `seeds/` for the values of a country."""

    clauses: personal_data.Clauses
    personal: personal_data.PatternsByColumn
    placeholders: implausible_values.PatternsByColumn
    last_year: int


@dataclass(frozen=True, slots=True)
class _CleanSource:
    """The files with the good rows of a source (at least one file); the files with its bad rows; the report."""

    good: list[Path]
    bad: list[Path]
    report: Quality


def _clean(
    task: Task, sources: Sources, rules: _Rules, progress: AddProgress
) -> tuple[_Rows, Quality]:
    """Clean the rows of every source; write the bad rows to the file of rejected rows.

    Raises:
        BuildError: a company appears twice in a source, or too many rows are bad.
    """
    complement_sources = {
        source.name: _clean_source(task, f"complement-{rank}", source.parts, rules, progress)
        for rank, source in enumerate(sources.complements)
    }
    register = _clean_source(task, "register", sources.register, rules, progress)
    cleaned = [*complement_sources.values(), register]
    report = quality_report.total(source.report for source in cleaned)
    bad_rows = [pl.scan_parquet(file) for source in cleaned for file in source.bad]
    no_rows = pl.LazyFrame(schema={REASON: pl.String, **COMPANIES})
    path = rejections.rows_path(task.out, task.iso2)
    rejections.write(pl.concat([no_rows, *bad_rows]), list(COMPANIES), path, task.work)
    refused = report.rejetees
    rejections.refuse_too_many(task.iso2, "rows", task.rows, refused, task.max_rejected, path)
    complement_rows = {
        name: pl.scan_parquet(source.good) for name, source in complement_sources.items()
    }
    return _Rows(register.good, complement_rows), report


def _rules(seeds: Seeds, rates: pl.DataFrame, iso2: str) -> _Rules:
    """The rules for the values of a country; the newest year of `rates` limits its dates and years."""
    return _Rules(
        personal_data.clauses_of_country(seeds, iso2),
        personal_data.patterns(seeds, iso2),
        implausible_values.placeholders(seeds, iso2),
        implausible_values.latest_year(rates),
    )


def _clean_source(
    task: Task, name: str, parts: Sequence[InputPart], rules: _Rules, progress: AddProgress
) -> _CleanSource:
    """Clean the rows of a source in pieces of about `task.batch` rows; `name` is in the names of the temporary files.

    A file of many countries has few rows of one country per piece, so several pieces are written to one file.

    Raises:
        BuildError: a company appears twice.
    """
    good: list[Path] = []
    bad: list[Path] = []
    reports: list[Quality] = []
    unwritten: list[pl.DataFrame] = []
    pieces = input_files.scan_pieces(parts, "companies", task.iso2, task.batch)
    for number, piece in enumerate(pieces):
        good_rows, bad_rows, report = _clean_piece(piece, rules, task.hidden)
        reports.append(report)
        if bad_rows.height:
            bad.append(_write_temporary_file(task, f"bad-{name}-{number:05}", bad_rows))
        unwritten.append(good_rows)
        if sum(frame.height for frame in unwritten) > task.batch // 2:
            good.append(
                _write_temporary_file(task, f"good-{name}-{number:05}", pl.concat(unwritten))
            )
            unwritten = []
        progress((good_rows.height + bad_rows.height) * _CLEAN_SHARE)
    if unwritten:
        good.append(_write_temporary_file(task, f"good-{name}-rest", pl.concat(unwritten)))
    files = [part.path for part in parts]
    identifiers.refuse_duplicates(pl.scan_parquet(good), task.iso2, files)
    return _CleanSource(good, bad, quality_report.total(reports))


def _clean_piece(
    piece: pl.LazyFrame, rules: _Rules, hidden: Hidden
) -> tuple[pl.DataFrame, pl.DataFrame, Quality]:
    """Clean a piece, a part of a source's rows: its good rows, its bad rows with their REASON, and its report.

    Texts are cleaned; companies with an objection, clauses with persons and impossible values are removed.
    """
    cleaned = piece.pipe(text_cleaning.clean).pipe(objections.leave_out_companies, hidden)
    without_clauses, clause_counts = personal_data.cut_clauses(
        cleaned.collect(engine="in-memory"), rules.clauses
    )
    marked = (
        without_clauses.lazy()
        .pipe(personal_data.clear_personal_texts, rules.personal)
        .pipe(money.drop_negative_zeros)
        .pipe(rejections.add_reasons)
        .collect(engine="in-memory")
    )
    bad = marked.filter(pl.col(REASON).is_not_null()).select(REASON, *COMPANIES)
    good = marked.filter(pl.col(REASON).is_null())
    plausible, value_counts = implausible_values.leave_out(
        good, rules.placeholders, rules.last_year
    )
    report = Quality(
        rejetees=rejections.count_reasons(bad.lazy()),
        valeurs_ecartees=value_counts,
        clauses_coupees=clause_counts,
        donnees_personnelles=personal_data.count(good.lazy()),
    )
    return plausible.drop(REASON, personal_data.MATCHED_COLUMNS), bad, report


def _write_temporary_file(task: Task, name: str, rows: pl.DataFrame) -> Path:
    """Write rows to a temporary file of the task; return its path."""
    path = task.work / f"{name}.parquet"
    rows.write_parquet(path, compression="lz4", statistics=False)
    return path


# -- 3. statement lines --------------------------------------------------------------


def _select_lines(task: Task, rows: _Rows, rules: _Rules) -> tuple[_Lines, Quality]:
    """Select the lines to store: lines of good rows, without copies, of the last years.

    Reasons are added before copies and old years are dropped, so each line is either stored or has exactly one reason.

    Raises:
        BuildError: too many lines are bad.
    """
    if not task.comptes:
        rejections.lines_path(task.out, task.iso2).unlink(missing_ok=True)
        return _Lines(
            _NO_LINES, _NO_LINES.with_columns(pl.lit(None, pl.String).alias(REASON))
        ), Quality()
    seeds = task.tables.seeds
    with_reasons = (
        input_files.scan_country(task.comptes, "comptes", task.iso2)
        .pipe(text_cleaning.clean)
        .pipe(personal_data.clear_personal_texts, rules.personal)
        .pipe(money.drop_negative_zeros)
        .pipe(statement_lines.add_reasons, pl.scan_parquet(rows.register), rules.last_year)
    )
    judged = _compute_to_file(task, "judged", with_reasons)
    distinct = _compute_to_file(task, "distinct", statement_lines.drop_copies(judged))
    weighed = _compute_to_file(task, "weighed", doubtful_accounts.add_reasons(distinct, seeds))
    plausible = weighed.filter(pl.col(REASON).is_null()).drop(REASON)
    recent = statement_lines.last_years(plausible).pipe(statement_lines.fill_labels, seeds)
    stored = _compute_to_file(task, "lines", recent)
    return _Lines(stored, weighed), _report_lines(task, judged, weighed, stored)


def _report_lines(
    task: Task, judged: pl.LazyFrame, weighed: pl.LazyFrame, stored: pl.LazyFrame
) -> Quality:
    """The report of the lines, from the number of rows of each frame; stop if too many lines are bad.

    Bad lines and withheld lines are written to the file of rejected lines; lines without a company in the input are
    only counted. Withheld lines do not stop a build, because a register is not responsible for the contents of filings.

    Args:
        judged: all lines of the input, with the REASON why a line cannot be stored.
        weighed: the lines without such a reason and without copies, with the REASON why a line is withheld.
        stored: the lines to store.
    """
    path = rejections.lines_path(task.out, task.iso2)
    withheld = weighed.with_columns(iso2=pl.lit(task.iso2)).select(REASON, *COMPTES)
    bad_lines = judged.filter(pl.col(REASON) != statement_lines.NO_COMPANY).select(REASON, *COMPTES)
    rejections.write(pl.concat([bad_lines, withheld]), list(COMPTES), path, task.work)
    reason_counts, withheld_counts = (
        rejections.count_reasons(judged),
        rejections.count_reasons(weighed),
    )
    read_count, distinct_count, stored_count = map(rejections.count_rows, (judged, weighed, stored))
    bad_counts = {
        name: count for name, count in reason_counts.items() if name != statement_lines.NO_COMPANY
    }
    rejections.refuse_too_many(
        task.iso2, "statement lines", read_count, bad_counts, task.max_rejected, path
    )
    # Copies and old lines have no REASON: their numbers are the differences between the frames.
    left_out = {
        **reason_counts,
        statement_lines.COPY: read_count - sum(reason_counts.values()) - distinct_count,
        **withheld_counts,
        statement_lines.TOO_OLD: distinct_count - sum(withheld_counts.values()) - stored_count,
    }
    return Quality(
        donnees_personnelles=personal_data.count(judged),
        lignes_lues=read_count,
        lignes_gardees=stored_count,
        lignes_ecartees={name: count for name, count in left_out.items() if count},
        lignes_contradictoires=statement_lines.contradictions(stored),
        comptes_retenus=doubtful_accounts.examples(weighed),
    )


def _compute_to_file(task: Task, name: str, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Compute `rows` once, in bounded memory, into a file; return a scan of the file."""
    path = task.work / f"{name}.parquet"
    rows.sink_parquet(path, compression="lz4")
    return pl.scan_parquet(path)


# -- 4. derive and sort --------------------------------------------------------------


def _derive(
    task: Task, rows: _Rows, lines: _Lines, progress: AddProgress
) -> tuple[_ShardInput, Quality]:
    """The input of the shard: companies with derived columns in layout order, their statements and ratios.

    The companies are completed and sorted piece by piece, then merged, so that memory holds only one piece. The report
    is that of the finished companies.
    """
    seeds, rates = task.tables.seeds, task.tables.rates
    facts = statement_lines.facts(lines.stored, seeds).collect()
    runs, searched_columns, report = _derive_pieces(task, rows, facts.lazy(), progress)
    ordered, company_numbers = shard_input.merge_pieces(searched_columns)
    del searched_columns  # frees its memory before the columns of the shard are made
    conformity = identifiers.conformity(ordered["id"], seeds.country(task.iso2))
    columns = shard_input.columns(ordered)
    sorted_lines = shard_input.sort_lines(ordered["id"], lines.stored)
    withheld = shard_input.withheld_codes(ordered["id"], lines.weighed)
    del ordered  # frees its memory before the ratios are computed
    shard = _ShardInput(
        columns,
        shard_input.records(runs, company_numbers),
        shard_input.statements(sorted_lines, withheld),
        shard_input.last_year_ratios(sorted_lines, rates),
    )
    absent = complements.count_absent(rows.complements, report.fusionnees)
    return shard, replace(report, ecartees=absent, **asdict(conformity))


def _derive_pieces(
    task: Task, rows: _Rows, facts: pl.LazyFrame, progress: AddProgress
) -> tuple[list[Run], list[pl.DataFrame], Quality]:
    """Complete and sort the companies of each piece.

    Returns:
        The sorted run of each piece, on disk; the searched columns of each run, in memory; the report.
    """
    runs: list[Run] = []
    searched_columns: list[pl.DataFrame] = []
    reports: list[Quality] = []
    start = 0
    for number, file in enumerate(rows.register):
        piece = pl.read_parquet(file)
        for name, complement in rows.complements.items():
            piece = complements.fill(piece, complement, name)
        derived = _add_columns(task, piece.lazy(), facts).pipe(shard_input.sort_companies)
        finished = require_rows(derived.collect(engine="in-memory"), "the stages", piece.height)
        run = shard_input.write_run(
            task.work / f"{number:05}.run", start, shard_input.json_lines(finished)
        )
        file.unlink()
        runs.append(run)
        searched_columns.append(shard_input.search_columns(finished))
        reports.append(quality_report.frame_quality(finished))
        start = run.stop
        progress(finished.height * _DERIVE_SHARE)
    return runs, searched_columns, quality_report.total(reports)


def _add_columns(task: Task, good: pl.LazyFrame, facts: pl.LazyFrame) -> pl.LazyFrame:
    """Add all derived columns of a company; each stage adds its own.

    Their order matters: `require_columns` checks that the columns that a stage needs are there. Fields with an
    objection are cleared after they are derived, and before the score counts them.
    """
    seeds, rates, nace = task.tables.seeds, task.tables.rates, task.tables.nace
    return (
        good.pipe(personal_data.mark_mailboxes, seeds, leave_out=not task.personal_mailboxes)
        .pipe(statement_lines.fill_from_statements, facts)
        .pipe(
            require_columns,
            "statement_lines",
            there=["n_exercices", "exercice_min", "exercice_max"],
        )
        .pipe(money.convert_turnover, rates)
        .pipe(money.convert_capital, rates)
        .pipe(money.convert_assets, rates)
        .pipe(require_columns, "money", there=[money.CAPITAL, money.UNCONVERTED], gone=["taux"])
        .pipe(sectors.add_sectors, nace, sectors.codes_outside_nace(seeds, task.iso2))
        .pipe(require_columns, "sectors", there=_WORKING_COLUMNS, gone=["nace_version"])
        .pipe(statuses.add_state, statuses.states(seeds, task.iso2))
        .pipe(statuses.add_french, statuses.french_words(seeds, task.iso2))
        .pipe(identifiers.fill_register_url, seeds.country(task.iso2))
        .pipe(derived_fields.fill_derived)
        .pipe(objections.clear_fields, task.hidden)
        .pipe(derived_fields.add_score)
        .pipe(require_columns, "score", there=[*FIELDS, *_WORKING_COLUMNS], gone=[REASON])
    )


# -- 5. write ------------------------------------------------------------------------


def _write(task: Task, shard: _ShardInput, report: Quality, progress: AddProgress) -> BuiltCountry:
    """Write the shard, move it to `task.done`, and write the receipt, by which a later build recognises the shard."""
    path = task.work / generation_files.shard_name(task.iso2)
    writer.write(
        path,
        task.iso2,
        shard.columns,
        shard.records,
        shard.statements,
        lambda count: progress(count * _WRITE_SHARE),
        shard.ratios,
    )
    cells = tuple(CellCount(*cell) for cell in shard.columns.cells)
    country = BuiltCountry(task.iso2, cells, report, manifest.digest(path))
    path.replace(task.done / path.name)
    receipts.write_receipt(task.done, country, task.key, task.rejected_files, task.work)
    shutil.rmtree(task.work)
    return country


# -- checks between two stages -------------------------------------------------------


def require_columns(
    frame: pl.LazyFrame, stage: str, *, there: Iterable[str] = (), gone: Iterable[str] = ()
) -> pl.LazyFrame:
    """Return `frame`, the result of `stage`, if it has the columns `there` and lacks the columns `gone`.

    Raises:
        BuildError: the message names the stage and the columns.
    """
    columns = set(frame.collect_schema())
    if missing := sorted(set(there) - columns):
        raise BuildError(
            f"after {stage}: no column {', '.join(missing)}; report it: the stage must add it"
        )
    if not_dropped := sorted(set(gone) & columns):
        raise BuildError(
            f"after {stage}: {', '.join(not_dropped)} is still there; report it: the stage must drop it"
        )
    return frame


def require_rows(frame: pl.DataFrame, stage: str, expected: int) -> pl.DataFrame:
    """Return `frame` if it has the `expected` number of rows.

    Raises:
        BuildError: a join lost or multiplied rows.
    """
    if frame.height != expected:
        raise BuildError(
            f"after {stage}: {frame.height} rows of {expected}; a table of seeds/ has a key twice: keep one of its rows"
        )
    return frame


# -- the trial of one import ---------------------------------------------------------


def refuse_import(file: Path, seeds: Seeds, max_rejected: float) -> None:
    """Stop if the rows of one import alone would stop a build, or if most of its identifiers have a wrong form.

    Raises:
        BuildError: a country has too many rejected rows, unknown statuses or texts of persons, or too many identifiers
            of another form, as after a spreadsheet has changed them.
    """
    rates = money.rates(seeds)
    rows = input_files.count_rows(file, "companies")
    for iso2 in sorted(rows.keys() & {country.iso2 for country in seeds.pays}):
        rules = _rules(seeds, rates, iso2)
        states = statuses.states(seeds, iso2)
        reports = [Quality(lues=rows[iso2])]
        invalid_count, example = 0, ""
        parts = [InputPart(file, rows[iso2])]
        for piece in input_files.scan_pieces(parts, "companies", iso2, _TRIAL_ROWS):
            # No objections ({}), since they do not affect whether the import can be built.
            good, _, report = _clean_piece(piece, rules, {})
            with_states = statuses.add_state(good.lazy(), states).collect(engine="in-memory")
            status_report = Quality(
                avec_statut=with_states["statut"].count(),
                statuts_sans_etat=with_states[statuses.UNMAPPED].count(),
                statuts_inconnus=quality_report.tally(with_states, statuses.UNMAPPED),
            )
            reports += [report, status_report]
            invalid = identifiers.invalid_identifiers(good["id"], seeds.country(iso2))
            invalid_count, example = (
                invalid_count + len(invalid),
                example or next(iter(invalid), ""),
            )
        if invalid_count > _MOST_MISSHAPEN * rows[iso2]:
            raise BuildError(
                f"{iso2}: {invalid_count:,} of {rows[iso2]:,} identifiers do not have the format of the country,"
                f" such as {example!r}; use the file as the register publishes it"
            )
        total = quality_report.total(reports)
        rejections.refuse_too_many(
            iso2, "rows", rows[iso2], total.rejetees, max_rejected, file.name
        )
        if closed := quality_report.closed_gates({iso2: total}):
            raise BuildError("; ".join(closed))
