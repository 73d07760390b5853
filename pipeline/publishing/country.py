"""One country, from its rows in the input to its shard; `_run_stages` lists the stages.

Rows go through the stages in pieces that fit into memory. A first pass cleans them and sets bad
rows apart. A second pass, once the statement lines are known, adds the derived columns and sorts
the pieces. Only the columns that are searched are in memory for all rows at once. Each stage
reports its share of the work on a row to `progress`.

Statement lines get reasons before copies and old years are dropped, and each intermediate frame is a
file. The account takes the differences of their heights, so that each line that was read is stored or
counted under one reason.

A stage that loses a column or multiplies rows by a join would otherwise show only in the served data:
`require_columns` and `require_rows` stop the build, as these are faults of the build, not of its input.
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

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
from pipeline.stages.complements import SourceRows
from pipeline.stages.input_files import InputPart
from pipeline.stages.quality_report import Quality
from pipeline.stages.rejections import REASON
from pipeline.workers.processes import Progress
from shards.codec.record import FIELDS
from shards.generations import generation_files, manifest
from shards.generations.reference import CellCount
from shards.writing import writer
from shards.writing.writer import Columns

_WORKING: Final = (sectors.DIVISION, sectors.GROUP, money.CAPITAL, money.ASSETS)
_BAD: Final = "bad"
_MOST_MISSHAPEN: Final = 0.5  # share of identifiers of another form in an import
_TRIED: Final = 100_000  # rows of an import that are in memory at once while it is tried
_NO_LINES: Final = pl.LazyFrame(schema={name: COMPTES[name] for name in statement_lines.LINES})
_NO_LINES_WEIGHED: Final = _NO_LINES.with_columns(pl.lit(None, pl.String).alias(REASON))
# The share of each stage in the time of a row.
_READ: Final = 0.15
_FINISHED: Final = 0.25
_WRITTEN: Final = 0.6


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """What was taken out of rows that stay: values that cannot be, and clauses that name a person."""

    values: Counter[str] = field(default_factory=Counter)
    clauses: Counter[str] = field(default_factory=Counter)


def build(task: Task, progress: Progress) -> BuiltCountry:
    """Build one country and leave its shard and its receipt in `task.done`.

    Raises:
        BuildError: a company that comes twice, or too many rejected rows.
        InputError: a file of the input that is not canonical or cannot be read.
    """
    # A folder per attempt: when a worker of a cluster is lost, a country may be built twice at once.
    task = replace(task, work=Path(tempfile.mkdtemp(prefix=f"{task.iso2}-", dir=task.work)))
    if not task.companies and not task.comptes and not task.unmet:
        return _build_empty(task)
    with canonical.name_unreadable(part.path for part in (*task.companies, *task.comptes)):
        return _run_stages(task, progress)


def refuse_import(file: Path, seeds: Seeds, max_rejected: float) -> None:
    """Stop if the rows of one import alone would close a gate of a country, or if few identifiers have its form.

    Raises:
        BuildError: a country with too many rejected rows, unknown statuses, texts of persons or numbers
            that a spreadsheet has written in its own way.
    """
    last_year = implausible_values.latest_year(money.rates(seeds))
    rows = input_files.count_rows(file, "companies")
    for iso2 in sorted(rows.keys() & {country.iso2 for country in seeds.pays}):
        of_persons = personal_data.clauses_of_country(seeds, iso2)
        patterns = personal_data.patterns(seeds, iso2)
        unknown = implausible_values.placeholders(seeds, iso2)
        states = statuses.states(seeds, iso2)
        refused, odd, personal = Counter[str](), Counter[str](), Counter[str]()
        with_status, misshapen, strange = 0, 0, ""
        parts = [InputPart(file, rows[iso2])]
        for piece in input_files.scan_pieces(parts, "companies", iso2, _TRIED):
            marked, _ = _mark(piece.pipe(text_cleaning.clean), of_persons, patterns)
            refused.update(rejections.count_reasons(marked.lazy()))
            good = marked.filter(pl.col(REASON).is_null())
            good, _ = implausible_values.leave_out(good, unknown, last_year)
            stated = statuses.add_state(good.lazy(), states).collect(engine="in-memory")
            with_status += stated["statut"].count()
            odd.update(quality_report.tally(stated, statuses.UNMAPPED))
            personal.update(personal_data.count(good.lazy()))
            others = identifiers.misshapen(good["id"], seeds.country(iso2))
            misshapen, strange = misshapen + len(others), strange or next(iter(others), "")
        if misshapen > _MOST_MISSHAPEN * rows[iso2]:
            raise BuildError(
                f"{iso2}: {misshapen:,} of {rows[iso2]:,} identifiers are not of the form of the country, such as"
                f" {strange!r}; take the file as the register publishes it"
            )
        rejections.refuse_too_many(iso2, "rows", rows[iso2], refused, max_rejected, file.name)
        found = Quality(
            lues=rows[iso2],
            avec_statut=with_status,
            statuts_sans_etat=odd.total(),
            statuts_inconnus=dict(odd),
            donnees_personnelles=dict(personal),
        )
        if closed := quality_report.closed_gates({iso2: found}):
            raise BuildError("; ".join(closed))


def _run_stages(task: Task, progress: Progress) -> BuiltCountry:
    lines, weighed, line_counts = _NO_LINES, _NO_LINES_WEIGHED, dict[str, Any]()
    met = _meet_objections(task)
    sources = complements.of_country(task.companies, task.iso2)
    left_out = _LeftOut()
    stored = {
        source.name: _store_complement(task, rank, source, left_out, progress)
        for rank, source in enumerate(sources.complements)
    }
    pieces = _complete_pieces(task, sources.register, stored, left_out, progress)
    if task.comptes:
        good = [_store(piece, task, f"good-{number:05}") for number, piece in enumerate(pieces)]
        pieces = map(pl.read_parquet, good)
        lines, weighed, line_counts = _prepare_lines(task, pl.scan_parquet(good))
    else:
        rejections.lines_path(task.out, task.iso2).unlink(missing_ok=True)
    facts = statement_lines.facts(lines, task.tables.seeds).collect()
    runs, searched, summed = _finish(task, pieces, facts.lazy(), progress)
    ordered, order = shard_input.merge_pieces(searched)
    del searched
    identifiers.refuse_duplicates(
        ordered.lazy(), task.iso2, [part.path for part in sources.register]
    )
    conformity = identifiers.conformity(ordered["id"], task.tables.seeds.country(task.iso2))
    columns = shard_input.columns(ordered)
    sorted_lines = shard_input.sort_lines(ordered["id"], lines)
    withheld = shard_input.withheld_codes(ordered["id"], weighed)
    del ordered
    path = task.work / generation_files.shard_name(task.iso2)
    records = shard_input.records(runs, order)
    writer.write(
        path,
        task.iso2,
        columns,
        records,
        shard_input.statements(sorted_lines, withheld),
        lambda count: progress(count * _WRITTEN),
        shard_input.last_year_ratios(sorted_lines, task.tables.rates),
    )
    report = replace(
        summed,
        lues=task.rows,
        rejetees=rejections.count_reasons(_rejected_rows(task)),
        ecartees=_left_out(stored, summed.fusionnees) | _left_out_by_objections(task, met),
        valeurs_ecartees=dict(sorted(left_out.values.items())),
        clauses_coupees=dict(sorted(left_out.clauses.items())),
        oppositions=objections.count_hidden(task.hidden, met),
        codes_inconnus=quality_report.most_common(summed.codes_inconnus),
        statuts_inconnus=quality_report.most_common(summed.statuts_inconnus),
        donnees_personnelles=_personal_counts(summed, stored.values(), line_counts),
        **line_counts,
        **asdict(conformity),
    )
    return _complete(task, path, columns, report)


def _build_empty(task: Task) -> BuiltCountry:
    """Build a country without input: the result of the stages for no row, without running them."""
    for path in task.rejected_files:
        path.unlink(missing_ok=True)
    path = task.work / generation_files.shard_name(task.iso2)
    columns = shard_input.columns(shard_input.NO_COMPANIES)
    writer.write(path, task.iso2, columns, lambda _: iter(()), ())
    return _complete(
        task, path, columns, Quality(renseignees=dict.fromkeys(quality_report.COUNTED, 0))
    )


def _complete(task: Task, written: Path, columns: Columns, report: Quality) -> BuiltCountry:
    """Move the shard to `task.done` and write its receipt, for a later build to find."""
    cells = tuple(CellCount(*cell) for cell in columns.cells)
    country = BuiltCountry(task.iso2, cells, report, manifest.digest(written))
    written.replace(task.done / written.name)
    receipts.write_receipt(task.done, country, task.key, task.rejected_files, task.work)
    shutil.rmtree(task.work)
    return country


def _store_complement(
    task: Task, rank: int, source: SourceRows, left_out: _LeftOut, progress: Progress
) -> pl.LazyFrame:
    """The good rows of a complement, cleaned and stored.

    Raises:
        BuildError: a company that comes twice.
    """
    pieces = _clean_pieces(task, source.parts, f"complement-{rank}", left_out, progress)
    stored = [
        _store(piece, task, f"complement-{rank}-{number:05}") for number, piece in enumerate(pieces)
    ]
    rows = pl.scan_parquet(stored)
    identifiers.refuse_duplicates(rows, task.iso2, [part.path for part in source.parts])
    return rows


def _complete_pieces(
    task: Task,
    register: Sequence[InputPart],
    stored: Mapping[str, pl.LazyFrame],
    left_out: _LeftOut,
    progress: Progress,
) -> Iterator[pl.DataFrame]:
    """The good rows of the country's register, filled from its complements, in pieces."""
    for piece in _clean_pieces(task, register, "register", left_out, progress):
        for name, rows in stored.items():
            piece = complements.fill(piece, rows, name)
        yield piece
    _write_rejected(task)


def _personal_counts(
    summed: Quality, stored: Iterable[pl.LazyFrame], line_counts: dict[str, Any]
) -> dict[str, int]:
    """What was refused as personal in all tables; takes the count of the lines out of `line_counts`."""
    counts = Counter(summed.donnees_personnelles)
    for rows in stored:
        counts.update(personal_data.count(rows))
    counts.update(line_counts.pop("donnees_personnelles", {}))
    return dict(sorted(counts.items()))


def _meet_objections(task: Task) -> dict[str, int]:
    """The input rows of each company that somebody has objected to.

    Raises:
        BuildError: a new objection meets no company: its identifier is probably wrong.
    """
    if not task.hidden:
        return {}
    rows = input_files.scan_country(task.companies, "companies", task.iso2)
    met = objections.rows_per_company(rows, task.hidden)
    if missed := sorted(task.unmet - met.keys()):
        raise BuildError(
            f"objections: {task.iso2} has no company {missed[0]!r} in the input; correct its "
            "identifiant, or give it a date in retrait"
        )
    return met


def _left_out_by_objections(task: Task, met: Mapping[str, int]) -> dict[str, int]:
    rows = sum(met.get(identifier, 0) for identifier in objections.hidden_companies(task.hidden))
    return {objections.LEFT_OUT: rows} if rows else {}


def _left_out(stored: Mapping[str, pl.LazyFrame], met: Mapping[str, int]) -> dict[str, int]:
    """The rows of complements whose company is not in the register, by reason and source."""
    left = {name: rejections.count_rows(rows) - met.get(name, 0) for name, rows in stored.items()}
    return {f"{complements.LEFT_OUT} ({name})": count for name, count in left.items() if count}


def _clean_pieces(
    task: Task,
    parts: Sequence[InputPart],
    name: str,
    left_out: _LeftOut,
    progress: Progress,
) -> Iterator[pl.DataFrame]:
    """The good rows of some files, cleaned, in pieces of about `task.batch`; bad rows are stored.

    Values that cannot be are null, and counted in `left_out`, as cut clauses are. A file of many countries gives few
    rows of one country at a time, so several make a piece.
    """
    waiting: list[pl.DataFrame] = []
    patterns = personal_data.patterns(task.tables.seeds, task.iso2)
    of_persons = personal_data.clauses_of_country(task.tables.seeds, task.iso2)
    unknown = implausible_values.placeholders(task.tables.seeds, task.iso2)
    last_year = implausible_values.latest_year(task.tables.rates)
    read = input_files.scan_pieces(parts, "companies", task.iso2, task.batch)
    for number, piece in enumerate(read):
        cleaned = piece.pipe(text_cleaning.clean).pipe(objections.leave_out_companies, task.hidden)
        marked, cuts = _mark(cleaned, of_persons, patterns)
        bad = marked.filter(pl.col(REASON).is_not_null())
        if bad.height:
            _store(bad, task, f"{_BAD}-{name}-{number:05}")
        good = marked.filter(pl.col(REASON).is_null()).drop(REASON)
        good, counts = implausible_values.leave_out(good, unknown, last_year)
        left_out.values.update(counts)
        left_out.clauses.update(cuts)
        waiting.append(good)
        progress(marked.height * _READ)
        if sum(frame.height for frame in waiting) > task.batch // 2:
            yield pl.concat(waiting)
            waiting = []
    if waiting:
        yield pl.concat(waiting)


def _mark(
    cleaned: pl.LazyFrame, of_persons: personal_data.Clauses, patterns: personal_data.Patterns
) -> tuple[pl.DataFrame, Counter[str]]:
    """Rows without clauses and texts of persons, with REASON, and the count of the cut clauses."""
    whole, cuts = personal_data.cut_clauses(cleaned.collect(engine="in-memory"), of_persons)
    marked = (
        whole.lazy()
        .pipe(personal_data.refuse, patterns)
        .pipe(money.drop_negative_zeros)
        .pipe(rejections.add_reasons)
        .collect(engine="in-memory")
    )
    return marked, cuts


def _write_rejected(task: Task) -> None:
    """Write the bad rows of all pieces; stop if they are too many."""
    marked, path = _rejected_rows(task), rejections.rows_path(task.out, task.iso2)
    rejections.write(marked, list(COMPANIES), path, task.work)
    refused = rejections.count_reasons(marked)
    rejections.refuse_too_many(task.iso2, "rows", task.rows, refused, task.max_rejected, path)


def _rejected_rows(task: Task) -> pl.LazyFrame:
    """The bad rows of the pieces cleaned so far, with their reasons."""
    none = pl.LazyFrame(
        schema={
            **COMPANIES,
            text_cleaning.CUT: pl.Boolean,
            text_cleaning.NO_LINK: pl.Int64,
            text_cleaning.NO_EMAIL: pl.Boolean,
            personal_data.FOUND: pl.Int64,
            REASON: pl.String,
        }
    )
    bad = sorted(task.work.glob(f"{_BAD}-*.parquet"))
    return pl.concat([none, *map(pl.scan_parquet, bad)])


def _finish(
    task: Task, good: Iterable[pl.DataFrame], facts: pl.LazyFrame, progress: Progress
) -> tuple[list[Run], list[pl.DataFrame], Quality]:
    """Add the derived columns to the good rows, piece by piece.

    Returns:
        The sorted runs on disk, the searched columns of each run, and the summed report.
    """
    runs: list[Run] = []
    searched: list[pl.DataFrame] = []
    reports: list[Quality] = []
    start = 0
    for number, piece in enumerate(good):
        stages = _add_columns(task, piece.lazy(), facts).pipe(shard_input.sort_companies)
        finished = require_rows(stages.collect(engine="in-memory"), "the stages", piece.height)
        run = shard_input.write_run(
            task.work / f"{number:05}.run", start, shard_input.json_lines(finished)
        )
        runs.append(run)
        searched.append(shard_input.search_columns(finished))
        reports.append(quality_report.of_frame(finished))
        start = run.stop
        progress(finished.height * _FINISHED)
    return runs, searched, quality_report.total(reports)


def _add_columns(task: Task, good: pl.LazyFrame, facts: pl.LazyFrame) -> pl.LazyFrame:
    """Add every derived column of a company; each stage adds its own."""
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
        .pipe(require_columns, "sectors", there=_WORKING, gone=["nace_version"])
        .pipe(statuses.add_state, statuses.states(seeds, task.iso2))
        .pipe(statuses.add_french, statuses.french_words(seeds, task.iso2))
        .pipe(identifiers.fill_register_url, seeds.country(task.iso2))
        .pipe(derived_fields.fill_derived)
        .pipe(objections.clear_fields, task.hidden)
        .pipe(derived_fields.add_score)
        .pipe(require_columns, "score", there=[*FIELDS, *_WORKING], gone=[REASON])
    )


def _store(frame: pl.DataFrame, task: Task, name: str) -> Path:
    path = task.file(name)
    frame.write_parquet(path, compression="lz4", statistics=False)
    return path


# -- statement lines -----------------------------------------------------------------


def _prepare_lines(
    task: Task, good: pl.LazyFrame
) -> tuple[pl.LazyFrame, pl.LazyFrame, dict[str, Any]]:
    """The lines to store (of good rows, without copies, of the last years), all with their reasons, the account."""
    comptes = input_files.scan_country(task.comptes, "comptes", task.iso2)
    patterns = personal_data.patterns(task.tables.seeds, task.iso2)
    marked = (
        comptes.pipe(text_cleaning.clean)
        .pipe(personal_data.refuse, patterns)
        .pipe(money.drop_negative_zeros)
    )
    last_year = implausible_values.latest_year(task.tables.rates)
    judged = _materialise(marked.pipe(statement_lines.add_reasons, good, last_year), task, "judged")
    distinct = _materialise(statement_lines.drop_copies(judged), task, "distinct")
    doubts = doubtful_accounts.add_reasons(distinct, task.tables.seeds)
    weighed = _materialise(doubts, task, "weighed")
    sound = weighed.filter(pl.col(REASON).is_null()).drop(REASON)
    kept = statement_lines.last_years(sound).pipe(statement_lines.fill_labels, task.tables.seeds)
    lines = _materialise(kept, task, "lines")
    return lines, weighed, _account_for_lines(task, judged, weighed, lines)


def _account_for_lines(
    task: Task, judged: pl.LazyFrame, weighed: pl.LazyFrame, lines: pl.LazyFrame
) -> dict[str, Any]:
    """Account for the statement lines, as fields of Quality; stop if too many are bad.

    Bad lines and withheld ones are written apart; lines without a company in the input are only
    counted. A register is not held to what its companies file: withheld lines stop no build.
    """
    path = rejections.lines_path(task.out, task.iso2)
    withheld = weighed.with_columns(iso2=pl.lit(task.iso2)).select(REASON, *COMPTES)
    wrong = judged.filter(pl.col(REASON) != statement_lines.NO_COMPANY).select(REASON, *COMPTES)
    rejections.write(pl.concat([wrong, withheld]), list(COMPTES), path, task.work)
    doubts = rejections.count_reasons(weighed)
    reasons = rejections.count_reasons(judged)
    bad = {name: count for name, count in reasons.items() if name != statement_lines.NO_COMPANY}
    read, good, kept = (
        rejections.count_rows(judged),
        rejections.count_rows(weighed),
        rejections.count_rows(lines),
    )
    rejections.refuse_too_many(task.iso2, "statement lines", read, bad, task.max_rejected, path)
    left_out = {
        **reasons,
        statement_lines.COPY: read - sum(reasons.values()) - good,
        **doubts,
        statement_lines.TOO_OLD: good - sum(doubts.values()) - kept,
    }
    return {
        "donnees_personnelles": personal_data.count(judged),
        "lignes_lues": read,
        "lignes_gardees": kept,
        "lignes_ecartees": {name: count for name, count in left_out.items() if count},
        "lignes_contradictoires": statement_lines.contradictions(lines),
        "comptes_retenus": doubtful_accounts.examples(weighed),
    }


def _materialise(frame: pl.LazyFrame, task: Task, name: str) -> pl.LazyFrame:
    """Compute `frame` once, in bounded memory, into a file; return a scan of the file."""
    path = task.file(name)
    frame.sink_parquet(path, compression="lz4")
    return pl.scan_parquet(path)


# -- checks between two stages -------------------------------------------------------


def require_columns(
    frame: pl.LazyFrame, stage: str, *, there: Iterable[str] = (), gone: Iterable[str] = ()
) -> pl.LazyFrame:
    """Return `frame` if `stage` left the columns `there` and dropped the columns `gone`.

    Raises:
        BuildError: the stage and the columns.
    """
    found = set(frame.collect_schema())
    if missing := sorted(set(there) - found):
        raise BuildError(
            f"after {stage}: no column {', '.join(missing)}; report it, as the stage must make it"
        )
    if left := sorted(set(gone) & found):
        raise BuildError(
            f"after {stage}: {', '.join(left)} is still there; report it, as the stage must drop it"
        )
    return frame


def require_rows(frame: pl.DataFrame, stage: str, expected: int) -> pl.DataFrame:
    """Return `frame` if it has the `expected` number of rows.

    Raises:
        BuildError: a join that lost or multiplied rows.
    """
    if frame.height != expected:
        raise BuildError(
            f"after {stage}: {frame.height} rows of {expected}; a table of seeds/ has a key twice: keep one of its rows"
        )
    return frame
