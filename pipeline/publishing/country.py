"""One country, from its rows in the input to its shard: the five steps of `build`.

1. **Read**: the files of the country's own register and of its complements, and the companies that persons object to.
2. **Clean and reject**: files of good rows, in pieces that fit into memory. Bad rows are written apart.
3. **Statement lines**: the lines to store, and the lines that are withheld. Bad lines are written apart.
4. **Derive and sort**: the derived columns, piece by piece; the input of the shard writer, in layout order.
5. **Write**: the shard and its receipt.

Steps pass files to each other; only the columns that are searched are in memory for all rows at once. Each step returns
its part of the report, and the sum of the parts accounts for every row and line. `progress` gets the share of a step in
the work on a row. The rules about values are in `pipeline/stages`, a module for each subject.

A stage that loses a column or multiplies rows by a join would otherwise show only in the served data:
`require_columns` and `require_rows` stop the build, as these are faults of the build, not of its input.
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
from pipeline.workers.processes import Progress
from shards.codec.record import FIELDS
from shards.generations import generation_files, manifest
from shards.generations.reference import CellCount
from shards.ratios.accounts import NO_RATIOS, LastYearRatios
from shards.writing import writer
from shards.writing.writer import Columns

_NO_LINES: Final = pl.LazyFrame(schema={name: COMPTES[name] for name in statement_lines.LINES})
_WORKING: Final = (sectors.DIVISION, sectors.GROUP, money.CAPITAL, money.ASSETS)
_MOST_MISSHAPEN: Final = 0.5  # share of identifiers of another form in an import
_TRIED: Final = 100_000  # rows of an import that are in memory at once while it is tried
# The share of each step in the time of a row.
_CLEANED: Final = 0.15
_DERIVED: Final = 0.25
_WRITTEN: Final = 0.6


@dataclass(frozen=True, slots=True)
class _Rows:
    """The good rows of a country: files of its register, and the rows of each complement by its name."""

    register: list[Path]
    complements: Mapping[str, pl.LazyFrame]


@dataclass(frozen=True, slots=True)
class _Lines:
    """The statement lines to store, and all sound and withheld lines with REASON."""

    stored: pl.LazyFrame
    weighed: pl.LazyFrame


@dataclass(frozen=True, slots=True)
class _ShardInput:
    """The arguments of `writer.write`."""

    columns: Columns
    records: Callable[[range], Iterator[bytes]]
    statements: Iterable[tuple[int, bytes]]
    ratios: LastYearRatios


def build(task: Task, progress: Progress) -> BuiltCountry:
    """Build one country and leave its shard and its receipt in `task.done`.

    Raises:
        BuildError: a company that comes twice, or too many rejected rows.
        InputError: a file of the input that is not canonical or cannot be read.
    """
    # A folder per attempt: when a worker of a cluster is lost, a country may be built twice at once.
    task = replace(task, work=Path(tempfile.mkdtemp(prefix=f"{task.iso2}-", dir=task.work)))
    if not task.companies and not task.comptes and not task.unmet:
        return _write(task, *_without_input(task), progress)
    with canonical.name_unreadable(part.path for part in (*task.companies, *task.comptes)):
        sources, of_input = _read(task)
        rules = _rules(task.tables.seeds, task.tables.rates, task.iso2)
        rows, of_rows = _clean(task, sources, rules, progress)
        lines, of_lines = _select_lines(task, rows, rules)
        shard, of_companies = _derive(task, rows, lines, progress)
    report = quality_report.of_country((of_input, of_rows, of_lines, of_companies))
    return _write(task, shard, report, progress)


def _without_input(task: Task) -> tuple[_ShardInput, Quality]:
    """The result of the steps for no row, without running them."""
    for path in task.rejected_files:
        path.unlink(missing_ok=True)
    columns = shard_input.columns(shard_input.NO_COMPANIES)
    empty = _ShardInput(columns, lambda _: iter(()), (), NO_RATIOS)
    return empty, Quality(renseignees=dict.fromkeys(quality_report.COUNTED, 0))


# -- 1. read -------------------------------------------------------------------------


def _read(task: Task) -> tuple[Sources, Quality]:
    """The sources of the country; the report counts its rows, and companies that persons object to.

    Raises:
        BuildError: a new objection meets no company: its identifier is probably wrong.
    """
    sources = complements.of_country(task.companies, task.iso2)
    if not task.hidden:
        return sources, Quality(lues=task.rows)
    rows = input_files.scan_country(task.companies, "companies", task.iso2)
    met = objections.rows_per_company(rows, task.hidden)
    if missed := sorted(task.unmet - met.keys()):
        raise BuildError(
            f"objections: {task.iso2} has no company {missed[0]!r} in the input; correct its "
            "identifiant, or give it a date in retrait"
        )
    left_out = sum(met.get(company, 0) for company in objections.hidden_companies(task.hidden))
    return sources, Quality(
        lues=task.rows,
        ecartees={objections.LEFT_OUT: left_out} if left_out else {},
        oppositions=objections.count_hidden(task.hidden, met),
    )


# -- 2. clean and reject -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rules:
    """The tables of `seeds/` for the values of a country."""

    clauses: personal_data.Clauses
    personal: personal_data.Patterns
    placeholders: implausible_values.Patterns
    last_year: int


@dataclass(frozen=True, slots=True)
class _CleanSource:
    """The good rows of a source in files, one at least; files of its bad rows, and the report of both."""

    good: list[Path]
    bad: list[Path]
    report: Quality


def _clean(
    task: Task, sources: Sources, rules: _Rules, progress: Progress
) -> tuple[_Rows, Quality]:
    """Clean the rows of every source; write the bad rows apart.

    Raises:
        BuildError: a company that comes twice in a source, or too many bad rows.
    """
    completing = {
        source.name: _clean_source(task, f"complement-{rank}", source.parts, rules, progress)
        for rank, source in enumerate(sources.complements)
    }
    register = _clean_source(task, "register", sources.register, rules, progress)
    cleaned = [*completing.values(), register]
    report = quality_report.total(source.report for source in cleaned)
    bad = [pl.scan_parquet(file) for source in cleaned for file in source.bad]
    none = pl.LazyFrame(schema={REASON: pl.String, **COMPANIES})
    path = rejections.rows_path(task.out, task.iso2)
    rejections.write(pl.concat([none, *bad]), list(COMPANIES), path, task.work)
    refused = report.rejetees
    rejections.refuse_too_many(task.iso2, "rows", task.rows, refused, task.max_rejected, path)
    stored = {name: pl.scan_parquet(source.good) for name, source in completing.items()}
    return _Rows(register.good, stored), report


def _rules(seeds: Seeds, rates: pl.DataFrame, iso2: str) -> _Rules:
    return _Rules(
        personal_data.clauses_of_country(seeds, iso2),
        personal_data.patterns(seeds, iso2),
        implausible_values.placeholders(seeds, iso2),
        implausible_values.latest_year(rates),
    )


def _clean_source(
    task: Task, name: str, parts: Sequence[InputPart], rules: _Rules, progress: Progress
) -> _CleanSource:
    """Clean the rows of a source in pieces of about `task.batch` rows.

    A file of many countries gives few rows of one country at a time, so several make a piece.

    Raises:
        BuildError: a company that comes twice.
    """
    good: list[Path] = []
    bad: list[Path] = []
    reports: list[Quality] = []
    waiting: list[pl.DataFrame] = []
    pieces = input_files.scan_pieces(parts, "companies", task.iso2, task.batch)
    for number, piece in enumerate(pieces):
        sound, rejected, report = _clean_piece(piece, rules, task.hidden)
        reports.append(report)
        if rejected.height:
            bad.append(_store(task, f"bad-{name}-{number:05}", rejected))
        waiting.append(sound)
        if sum(frame.height for frame in waiting) > task.batch // 2:
            good.append(_store(task, f"good-{name}-{number:05}", pl.concat(waiting)))
            waiting = []
        progress((sound.height + rejected.height) * _CLEANED)
    if waiting:
        good.append(_store(task, f"good-{name}-rest", pl.concat(waiting)))
    files = [part.path for part in parts]
    identifiers.refuse_duplicates(pl.scan_parquet(good), task.iso2, files)
    return _CleanSource(good, bad, quality_report.total(reports))


def _clean_piece(
    piece: pl.LazyFrame, rules: _Rules, hidden: Hidden
) -> tuple[pl.DataFrame, pl.DataFrame, Quality]:
    """The good rows, the bad rows with REASON, and the report of both."""
    cleaned = piece.pipe(text_cleaning.clean).pipe(objections.leave_out_companies, hidden)
    whole, clauses = personal_data.cut_clauses(cleaned.collect(engine="in-memory"), rules.clauses)
    marked = (
        whole.lazy()
        .pipe(personal_data.refuse, rules.personal)
        .pipe(money.drop_negative_zeros)
        .pipe(rejections.add_reasons)
        .collect(engine="in-memory")
    )
    bad = marked.filter(pl.col(REASON).is_not_null()).select(REASON, *COMPANIES)
    good = marked.filter(pl.col(REASON).is_null())
    possible, values = implausible_values.leave_out(good, rules.placeholders, rules.last_year)
    report = Quality(
        rejetees=rejections.count_reasons(bad.lazy()),
        valeurs_ecartees=values,
        clauses_coupees=clauses,
        donnees_personnelles=personal_data.count(good.lazy()),
    )
    return possible.drop(REASON, personal_data.FOUND), bad, report


def _store(task: Task, name: str, rows: pl.DataFrame) -> Path:
    path = task.work / f"{name}.parquet"
    rows.write_parquet(path, compression="lz4", statistics=False)
    return path


# -- 3. statement lines --------------------------------------------------------------


def _select_lines(task: Task, rows: _Rows, rules: _Rules) -> tuple[_Lines, Quality]:
    """Select the lines to store: of good rows, without copies, of the last years.

    Lines get reasons before copies and old years are dropped, so that each line is stored or has one reason.

    Raises:
        BuildError: too many bad lines.
    """
    if not task.comptes:
        rejections.lines_path(task.out, task.iso2).unlink(missing_ok=True)
        return _Lines(
            _NO_LINES, _NO_LINES.with_columns(pl.lit(None, pl.String).alias(REASON))
        ), Quality()
    seeds = task.tables.seeds
    read = (
        input_files.scan_country(task.comptes, "comptes", task.iso2)
        .pipe(text_cleaning.clean)
        .pipe(personal_data.refuse, rules.personal)
        .pipe(money.drop_negative_zeros)
        .pipe(statement_lines.add_reasons, pl.scan_parquet(rows.register), rules.last_year)
    )
    judged = _sink(task, "judged", read)
    distinct = _sink(task, "distinct", statement_lines.drop_copies(judged))
    weighed = _sink(task, "weighed", doubtful_accounts.add_reasons(distinct, seeds))
    sound = weighed.filter(pl.col(REASON).is_null()).drop(REASON)
    recent = statement_lines.last_years(sound).pipe(statement_lines.fill_labels, seeds)
    stored = _sink(task, "lines", recent)
    return _Lines(stored, weighed), _account_for_lines(task, judged, weighed, stored)


def _account_for_lines(
    task: Task, judged: pl.LazyFrame, weighed: pl.LazyFrame, stored: pl.LazyFrame
) -> Quality:
    """The report of the lines, from the heights of the frames; stop if too many lines are bad.

    Bad lines and withheld ones are written apart; lines without a company in the input are only
    counted. A register is not held to what its companies file: withheld lines stop no build.
    """
    path = rejections.lines_path(task.out, task.iso2)
    withheld = weighed.with_columns(iso2=pl.lit(task.iso2)).select(REASON, *COMPTES)
    wrong = judged.filter(pl.col(REASON) != statement_lines.NO_COMPANY).select(REASON, *COMPTES)
    rejections.write(pl.concat([wrong, withheld]), list(COMPTES), path, task.work)
    reasons, doubts = rejections.count_reasons(judged), rejections.count_reasons(weighed)
    read, distinct, kept = map(rejections.count_rows, (judged, weighed, stored))
    bad = {name: count for name, count in reasons.items() if name != statement_lines.NO_COMPANY}
    rejections.refuse_too_many(task.iso2, "statement lines", read, bad, task.max_rejected, path)
    left_out = {
        **reasons,
        statement_lines.COPY: read - sum(reasons.values()) - distinct,
        **doubts,
        statement_lines.TOO_OLD: distinct - sum(doubts.values()) - kept,
    }
    return Quality(
        donnees_personnelles=personal_data.count(judged),
        lignes_lues=read,
        lignes_gardees=kept,
        lignes_ecartees={name: count for name, count in left_out.items() if count},
        lignes_contradictoires=statement_lines.contradictions(stored),
        comptes_retenus=doubtful_accounts.examples(weighed),
    )


def _sink(task: Task, name: str, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Compute `rows` once, in bounded memory, into a file; return a scan of the file."""
    path = task.work / f"{name}.parquet"
    rows.sink_parquet(path, compression="lz4")
    return pl.scan_parquet(path)


# -- 4. derive and sort --------------------------------------------------------------


def _derive(
    task: Task, rows: _Rows, lines: _Lines, progress: Progress
) -> tuple[_ShardInput, Quality]:
    """Add the derived columns, and sort the companies in layout order: each piece by itself, then all pieces."""
    seeds, rates = task.tables.seeds, task.tables.rates
    facts = statement_lines.facts(lines.stored, seeds).collect()
    runs, searched, report = _derive_pieces(task, rows, facts.lazy(), progress)
    ordered, order = shard_input.merge_pieces(searched)
    del searched
    conformity = identifiers.conformity(ordered["id"], seeds.country(task.iso2))
    columns = shard_input.columns(ordered)
    sorted_lines = shard_input.sort_lines(ordered["id"], lines.stored)
    withheld = shard_input.withheld_codes(ordered["id"], lines.weighed)
    del ordered
    shard = _ShardInput(
        columns,
        shard_input.records(runs, order),
        shard_input.statements(sorted_lines, withheld),
        shard_input.last_year_ratios(sorted_lines, rates),
    )
    absent = complements.count_absent(rows.complements, report.fusionnees)
    return shard, replace(report, ecartees=absent, **asdict(conformity))


def _derive_pieces(
    task: Task, rows: _Rows, facts: pl.LazyFrame, progress: Progress
) -> tuple[list[Run], list[pl.DataFrame], Quality]:
    """Sorted runs of the finished companies on disk, the searched columns of each run, and the report."""
    runs: list[Run] = []
    searched: list[pl.DataFrame] = []
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
        searched.append(shard_input.search_columns(finished))
        reports.append(quality_report.of_frame(finished))
        start = run.stop
        progress(finished.height * _DERIVED)
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


# -- 5. write ------------------------------------------------------------------------


def _write(task: Task, shard: _ShardInput, report: Quality, progress: Progress) -> BuiltCountry:
    """Write the shard, move it to `task.done`, and write its receipt, for a later build to find."""
    path = task.work / generation_files.shard_name(task.iso2)
    writer.write(
        path,
        task.iso2,
        shard.columns,
        shard.records,
        shard.statements,
        lambda count: progress(count * _WRITTEN),
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


# -- the trial of one import ---------------------------------------------------------


def refuse_import(file: Path, seeds: Seeds, max_rejected: float) -> None:
    """Stop if the rows of one import alone would close a gate of a country, or if few identifiers have its form.

    Raises:
        BuildError: a country with too many rejected rows, unknown statuses, texts of persons or numbers
            that a spreadsheet has written in its own way.
    """
    rates = money.rates(seeds)
    rows = input_files.count_rows(file, "companies")
    for iso2 in sorted(rows.keys() & {country.iso2 for country in seeds.pays}):
        rules = _rules(seeds, rates, iso2)
        states = statuses.states(seeds, iso2)
        reports = [Quality(lues=rows[iso2])]
        misshapen, strange = 0, ""
        parts = [InputPart(file, rows[iso2])]
        for piece in input_files.scan_pieces(parts, "companies", iso2, _TRIED):
            good, _, report = _clean_piece(piece, rules, {})
            stated = statuses.add_state(good.lazy(), states).collect(engine="in-memory")
            of_statuses = Quality(
                avec_statut=stated["statut"].count(),
                statuts_sans_etat=stated[statuses.UNMAPPED].count(),
                statuts_inconnus=quality_report.tally(stated, statuses.UNMAPPED),
            )
            reports += [report, of_statuses]
            others = identifiers.misshapen(good["id"], seeds.country(iso2))
            misshapen, strange = misshapen + len(others), strange or next(iter(others), "")
        if misshapen > _MOST_MISSHAPEN * rows[iso2]:
            raise BuildError(
                f"{iso2}: {misshapen:,} of {rows[iso2]:,} identifiers are not of the form of the country, such as"
                f" {strange!r}; take the file as the register publishes it"
            )
        total = quality_report.total(reports)
        rejections.refuse_too_many(
            iso2, "rows", rows[iso2], total.rejetees, max_rejected, file.name
        )
        if closed := quality_report.closed_gates({iso2: total}):
            raise BuildError("; ".join(closed))
