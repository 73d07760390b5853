"""The import of accounts that are documents, the same for every such source: documents in, canonical rows out.

A document is plain, gzip, in a zip or in a zip of a zip. Virk gives gzip without a suffix that says so, Bolagsverket a
zip for each report in a weekly zip. A document is open only while it is read. A damaged zip given to the command is an
InputError, a damaged one inside it a FilingError: the other filings are good.

The reader of a source turns a document into values of `FiledAccount`, the accounts of one company for one fiscal year
as published. It yields `RefusedAccounts` for accounts that give nothing, and goes on with the next. Those go to
`rejected/`, with the name of their document, and do not stop the import; accounts that are none of ours (withheld,
interim) are counted as dropped.

Documents are read one at a time, and their rows written batch by batch. Of several accounts of one
company the last filed wins, line by line: a later one states last year's figures as they stand now.
The choice is made afterwards, company by company, in groups of companies that fit in memory. So the
order of files changes nothing, and memory does not grow with their number.

Some forms do not state a line but only its parts: elements such as `210 + 214 + 218`. A sum is made where the form
states a part and no element of the line itself; its label says that it is computed. A missing part is a blank box,
which counts as zero.
"""

import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from math import inf, isfinite
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, NamedTuple

import polars as pl
from tqdm import tqdm

from pipeline.canonical import COMPTES, InputError
from pipeline.registers import packing
from pipeline.registers.accounts import chart, filing, statement
from pipeline.registers.accounts.chart import Taxonomy
from pipeline.registers.accounts.filing import MALFORMED, TOO_LONG, UNREADABLE, Fact, FilingError
from pipeline.registers.accounts.statement import BATCH, Row, Tally
from pipeline.registers.company_identifiers import NO_COMPANY, is_identifier
from pipeline.registers.packing import UnpackedSize
from pipeline.registers.record_stream import RecordError
from pipeline.registers.register import (
    EXAMPLES,
    REJECTED,
    Register,
    RegisterRows,
    RowCounts,
    rows_within,
)
from shards.codec.record import ETATS

_DEEPEST: Final = 3  # zips in zips; Bolagsverket has two, and one that holds itself has no end
_BROKEN: Final = (*packing.BROKEN, OSError)
NO_NUMBER: Final = "numéro de société absent"
NO_CLOSING: Final = "date de clôture absente"
UNKNOWN_CONCEPTS: Final = "concepts inconnus"
MOST_SLOW: Final = 10  # filings that take too long, in one import
NO_LINE: Final = "aucun poste reconnu"
REPLACED: Final = "lignes remplacées par un dépôt ultérieur"
TOGETHER: Final = 500_000  # rows in memory at once, at most
_ROW: Final = 1_000  # bytes of a row in memory
_KEY: Final = ("id", "exercice", "etat", "code")
# Beside the canonical columns: what sorts the accounts of a company, and what groups companies.
_FILED: Final = {"depot": pl.String(), "tas": pl.Int64()}
_GROUPS: Final = 1 << 16
PLUS: Final = " + "


# -- documents out of their packing --------------------------------------------------


class Document(NamedTuple):
    """A published file: its name without folders, and a way to open it, unpacked."""

    name: str
    open: Callable[[], IO[bytes]]

    def read(self) -> bytes:
        """Read a document that is one filing.

        Raises:
            FilingError: a damaged file, or one of more than LARGEST bytes.
        """
        return filing.content(self.open)


def documents(
    file: Path, suffixes: Collection[str], work: Path, *, is_alone: bool = False
) -> Iterator[Document]:
    """The documents in `file`, in the order of their names; each can be read until the next.

    Of a zip, only files with one of `suffixes` and further zips are taken: registers put notes
    beside them. A zip in the zip that cannot be opened is a document, which cannot be read either.

    Args:
        work: a folder for zips in the zip.
        is_alone: whether it is the only file of an import; of several, a single document is rejected alone.

    Raises:
        InputError: a file alone of a form that no register publishes, a .zip that is no zip, one without any such
            file, or one whose members cannot be read here.
    """
    size = UnpackedSize(file, work)
    if not packing.is_zip(file):
        if is_alone:
            packing.unpack(file.open("rb", buffering=0), size).close()  # to refuse a foreign form
        name = packing.unpacked_name(file.name.removesuffix(".zip"))
        yield Document(name, lambda: packing.unpack(file.open("rb", buffering=0), size))
        return
    opened = _Zips(suffixes, work, size)
    with packing.open_zip(file) as archive:
        for info in packing.entries(archive):
            packing.refuse_unreadable(info, file)
        found = False
        for document in opened.documents(archive, 1):
            found = True
            yield document
        if not found:
            raise packing.nothing_of(file, archive, suffixes)


class _Zips:
    """The documents of a zip, and of the zips in it."""

    def __init__(self, suffixes: Collection[str], work: Path, size: UnpackedSize) -> None:
        self._suffixes = tuple(suffixes)
        self._work = work
        self._size = size

    def documents(self, archive: zipfile.ZipFile, depth: int) -> Iterator[Document]:
        for info in packing.entries(archive):
            name = packing.unpacked_name(PurePosixPath(info.filename).name)
            document = Document(name, partial(packing.open_entry, archive, info, self._size))
            if name.lower().endswith(".zip"):
                yield from self._inner_documents(document, depth + 1)
            elif name.lower().endswith(self._suffixes):
                yield document

    def _inner_documents(self, packed: Document, depth: int) -> Iterator[Document]:
        if depth > _DEEPEST:
            yield packed._replace(open=lambda: _refuse(packed.name))
            return
        with ExitStack() as opened:
            try:
                archive = opened.enter_context(packing.copied_zip(packed.open(), self._work))
            except _BROKEN as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise  # of the disk; bz2 raises one without a number
                yield packed
                return
            for document in self.documents(archive, depth):
                yield document._replace(name=f"{packed.name}/{document.name}")


def _refuse(name: str) -> IO[bytes]:
    raise zipfile.BadZipFile(f"{name} is the zip number {_DEEPEST + 1} in one another")


# -- the result of a reader ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FiledAccount:
    """Accounts as filed.

    Attributes:
        id: the company, in the register's form.
        closing: the last day of the fiscal year; facts may be of earlier years too.
        filed: sorts the accounts of a company from old to new: a date or number of deposit.
        group: whether they are those of the group that the company heads.
        unreadable: how many facts of the filing could not be read.
        start: the first day of the fiscal year, where the facts have no periods.
    """

    id: str
    closing: date
    facts: Sequence[Fact]
    filed: str
    group: bool = False
    unreadable: int = 0
    start: date | None = None


@dataclass(frozen=True, slots=True)
class RefusedAccounts:
    """Accounts that give nothing; `on_purpose` where they are good and none of ours."""

    id: str | None
    reason: str
    detail: str
    on_purpose: bool = False


AccountsResult = FiledAccount | RefusedAccounts
Reader = Callable[[Document], Iterator[AccountsResult]]


def read_or_refuse(identifier: str | None, read: Callable[[], AccountsResult]) -> AccountsResult:
    """What `read` gives; accounts that it cannot read are refused, so that the next can be."""
    try:
        return read()
    except FilingError as error:
        return RefusedAccounts(identifier, error.reason, error.detail)
    except UNREADABLE as error:
        return RefusedAccounts(identifier, MALFORMED, f"{type(error).__name__}: {error}")


def amount(element: str, day: date, value: float, currency: str | None) -> Fact:
    """The fact of a register that publishes exact amounts, without periods."""
    return Fact(element, day, None, value, currency, inf)


def number(text: str | None) -> float | None:
    """A published number; None for an empty one.

    >>> number(" -1 250.50 "), number("")
    (-1250.5, None)

    Raises:
        FilingError: a text that is no finite number.
    """
    bare = (text or "").replace(" ", "").replace("\N{NO-BREAK SPACE}", "")
    if not bare:
        return None
    try:
        value = float(bare)
    except ValueError as error:
        raise FilingError("nombre illisible", repr(text)) from error
    if not isfinite(value):
        raise FilingError("nombre illisible", repr(text))
    return value


def day(text: str | None) -> date:
    """A date as `2024-12-31` or `20241231`; a time behind it is left out.

    Raises:
        FilingError: a text that is no date.
    """
    try:
        return date.fromisoformat((text or "").strip()[: 10 if "-" in (text or "") else 8])
    except ValueError as error:
        raise FilingError(NO_CLOSING, repr(text)) from error


def as_list(value: Any) -> list[Any]:
    """The elements of one name in a record of XML: none, one or several."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def text(value: Any) -> str:
    """The text of an element in a record of XML, empty where it has none."""
    return str(value.get("$", "")).strip() if isinstance(value, dict) else ""


# -- the import ----------------------------------------------------------------------


@dataclass(slots=True)
class FilingOutcome:
    """The account of the filings: read = kept + rejected."""

    tally: Tally = field(default_factory=Tally)
    rejected: list[dict[str, str | int | None]] = field(default_factory=list)
    read: int = 0
    kept: int = 0
    slow: int = 0

    def reject(
        self, file: str, number: str | None, error: FilingError, row: int | None = None
    ) -> None:
        """Record that the filing `file`, or the account number `row` in it, gives nothing, with the reason.

        Raises:
            InputError: too many filings took too long; the others would take as long.
        """
        self.rejected.append(
            {
                "fichier": file,
                "ligne": row,
                "id": number,
                "motif": error.reason,
                "detail": error.detail,
            }
        )
        if error.reason == TOO_LONG:
            self.slow += 1
            if self.slow > MOST_SLOW:
                raise InputError(
                    f"{file} is filing number {self.slow} that takes far too long; fetch the archive again"
                )

    def row_counts(self) -> RowCounts:
        """The account as every import reports it; unknown concepts are named, the commonest."""
        tally = self.tally
        often = [f"{concept} ({n})" for concept, n in tally.unknown.most_common(4 * EXAMPLES)]
        return RowCounts(
            read=self.read,
            kept=self.kept,
            rejected=dict(sorted(Counter(str(row["motif"]) for row in self.rejected).items())),
            noted={UNKNOWN_CONCEPTS: tally.unknown.total()} if tally.unknown else {},
            ignored=dict(sorted(tally.ignored.items())),
            examples={UNKNOWN_CONCEPTS: tuple(often)} if often else {},
            detail={what: n for what, n in sorted(tally.counts.items()) if n},
        )


@dataclass(slots=True)
class _Import:
    """An import on its way: the source's elements, the account of filings, the files written.

    Attributes:
        has_rows: whether a document has many accounts, which are named by their numbers in it.
    """

    iso2: str
    known: Taxonomy
    work: Path
    has_rows: bool
    outcome: FilingOutcome = field(default_factory=FilingOutcome)
    dropped: Counter[str] = field(default_factory=Counter)
    batch: list[Row] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)
    rows: int = 0


def register(
    source: str,
    iso2: str,
    suffixes: Sequence[str],
    reader: Reader,
    *,
    is_one_filing: bool = False,
) -> Register:
    """The register whose documents `reader` reads; of a zip, those with one of `suffixes`.

    Args:
        is_one_filing: whether a document is one filing, which is read within the limits of a filing.
    """
    read_document = _one_filing(reader) if is_one_filing else reader

    def read(files: Sequence[Path], work: Path, memory: int | None = None) -> RegisterRows:
        running = _Import(iso2, chart.load_elements(source), work, has_rows=not is_one_filing)
        for file in files:
            found = documents(file, suffixes, work, is_alone=len(files) == 1)
            shown = tqdm(found, desc=file.name, unit="", leave=False, disable=None)
            for document in shown:
                _read(running, document, read_document)
        _flush(running)
        kept = _last_filed(running, rows_within(memory, _ROW, TOGETHER))
        counts = running.outcome.row_counts()
        return RegisterRows(
            stems=tuple(dict.fromkeys(packing.stem(file) for file in files)),
            kept=kept,
            rejected=pl.LazyFrame(running.outcome.rejected, schema=dict(REJECTED)),
            counts=replace(counts, dropped=dict(sorted(running.dropped.items()))),
        )

    return Register(source=source, table="comptes", read=read)


def _one_filing(reader: Reader) -> Reader:
    def read(document: Document) -> Iterator[AccountsResult]:
        with filing.within_limits():
            accounts = list(reader(document))
        return iter(accounts)

    return read


def _read(running: _Import, document: Document, reader: Reader) -> None:
    outcome = running.outcome
    before = outcome.read
    try:
        for number, found in enumerate(reader(document), start=1):
            outcome.read += 1
            try:
                if isinstance(found, FiledAccount):
                    _keep(running, found)
                elif found.on_purpose:
                    running.dropped[found.reason] += 1
                else:
                    raise FilingError(found.reason, found.detail)
            except UNREADABLE as wrong:
                refused = FilingError(MALFORMED, f"{type(wrong).__name__}: {wrong}")
                outcome.reject(document.name, str(found.id), refused, _row(running, number))
            except FilingError as error:
                outcome.reject(document.name, found.id, error, _row(running, number))
        if outcome.read == before:
            raise FilingError(NO_LINE, "aucun compte")
    except FilingError as error:
        outcome.read += 1
        outcome.reject(document.name, None, error)
    except (RecordError, *_BROKEN) as error:
        # A document that holds many accounts is one download; half of it would pass for all.
        raise InputError(f"{document.name}: {error}; download it again") from error


def _row(running: _Import, number: int) -> int | None:
    return number if running.has_rows else None


def _keep(running: _Import, account: FiledAccount) -> None:
    """Keep the lines of an account.

    Raises:
        FilingError: it has no line, or is of no company.
    """
    outcome = running.outcome
    if not is_identifier(running.iso2, account.id):
        raise FilingError(NO_COMPANY, account.id)
    outcome.tally.counts["faits illisibles"] += account.unreadable
    added = add_up_parts(account.facts, running.known)
    facts = [*account.facts, *added]
    amounts = statement.amounts(facts, account.closing, running.known, outcome.tally, account.start)
    if not amounts:
        raise FilingError(NO_LINE, f"{len(account.facts)} faits")
    outcome.kept += 1
    computed = computed_lines(added, running.known)
    amounts = [
        one._replace(
            group=account.group,
            computed=one.computed or (one.exercice, one.line.code) in computed,
        )
        for one in amounts
    ]
    group = zlib.crc32(account.id.encode()) % _GROUPS
    for row in statement.canonical_rows(running.iso2, account.id, amounts):
        running.rows += 1
        running.batch.append(row | {"depot": account.filed, "tas": group})
    if len(running.batch) >= BATCH:
        _flush(running)


def _flush(running: _Import) -> None:
    if running.batch:
        path = running.work / f"depots-{len(running.written):05}.parquet"
        pl.DataFrame(running.batch, schema={**COMPTES, **_FILED}).write_parquet(path)
        running.written.append(path)
        running.batch.clear()


def _last_filed(running: _Import, together: int) -> pl.LazyFrame:
    """The last filed line of each company, year and code, in the order of statements."""
    parts = -(-running.rows // together)
    counts = running.outcome.tally.counts
    chosen: list[pl.LazyFrame] = [pl.LazyFrame(schema=dict(COMPTES))]
    for part in range(parts):
        path = running.work / f"lignes-{part:05}.parquet"
        lines = _chosen_rows(running.written, part, parts)
        lines.write_parquet(path)
        chosen.append(pl.scan_parquet(path))
        counts["lignes écrites"] += lines.height
        counts["sociétés"] += lines["id"].n_unique()
        counts["exercices"] += lines.select("id", "exercice").n_unique()
    counts[REPLACED] += running.rows - counts["lignes écrites"]
    return pl.concat(chosen)


def _chosen_rows(written: Sequence[Path], part: int, parts: int) -> pl.DataFrame:
    mine = pl.scan_parquet(list(written)).filter(pl.col("tas") * parts // _GROUPS == part)
    place = pl.col("etat").replace_strict(ETATS, range(len(ETATS)), return_dtype=pl.Int8)
    return (
        mine.sort("depot", "valeur", "libelle", descending=True)
        .unique(_KEY, keep="first", maintain_order=True)
        .sort("id", "exercice", place, "ordre")
        .select(list(COMPTES))
        .collect()
    )


# -- sums of parts -------------------------------------------------------------------


def add_up_parts(facts: Sequence[Fact], known: Taxonomy) -> list[Fact]:
    """The sums of `facts` on each of their days; their keys are the elements of `known`.

    Parts in several currencies are not added up.
    """
    stated = {(fact.key, fact.day): fact for fact in facts}
    lines = {(known.lines[key].line.code, day) for key, day in stated if key in known.lines}
    days = sorted({fact.day for fact in facts})
    found: list[Fact] = []
    for element, mapped in known.lines.items():
        if PLUS not in element:
            continue
        for day in days:
            parts = [stated[key, day] for key in element.split(PLUS) if (key, day) in stated]
            one_currency = len({part.currency for part in parts}) == 1
            if one_currency and (mapped.line.code, day) not in lines:
                found.append(parts[0]._replace(key=element, value=sum(p.value for p in parts)))
    return found


def computed_lines(facts: Sequence[Fact], known: Taxonomy) -> set[tuple[int, str]]:
    """The fiscal year and the line of each of these sums."""
    return {(fact.day.year, known.lines[fact.key].line.code) for fact in facts}
