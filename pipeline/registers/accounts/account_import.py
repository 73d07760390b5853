"""The import of accounts that are documents, for all such sources: from documents to canonical rows.

A document is plain, gzip, in a zip or in a zip of a zip. Virk publishes gzip without the suffix, Bolagsverket a weekly
zip with a zip for each report. A document is open only while it is read. A damaged zip given to the command raises
InputError. A damaged zip inside another zip is rejected as one filing if the documents of the source are single
filings, since the other filings are good.

The reader of a source turns a document into values of `FiledAccount`: the accounts of one company for one fiscal year,
as published. For accounts that it cannot use, the reader yields `RefusedAccounts` and continues. Refused accounts go to
`rejected/`, with the name of their document, and do not stop the import. Accounts that are left out on purpose
(withheld, interim) are counted as dropped.

Documents are read one at a time, and their rows are written in batches. Of several accounts of one
company, the last filed wins, line by line: later accounts repeat last year's figures with corrections.
Lines of another closing date in the same calendar year are left out.
The choice is made at the end, in groups of companies that fit in memory. So the
order of files does not matter, and memory does not grow with their number.

Some forms contain the parts of a line, but not the line: its element is then a sum such as `210 + 214 + 218`. The sum
is computed if the form has at least one part and no element of the line itself; the label says that the line is
computed. A missing part is a blank box, which counts as zero.
"""

import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import partial
from math import inf, isfinite, nan
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, NamedTuple

import polars as pl
from tqdm import tqdm

from pipeline.canonical import COMPTES, GROUP_SUFFIX, InputError
from pipeline.registers import packing
from pipeline.registers.accounts import chart, filing, statement
from pipeline.registers.accounts.chart import Taxonomy
from pipeline.registers.accounts.filing import MALFORMED, TOO_LONG, UNREADABLE, Fact, FilingError
from pipeline.registers.accounts.statement import BATCH, MONTHS_LINE, CanonicalRow, Tally
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

_DEEPEST: Final = 3  # nested zips at most, since a zip can contain itself; Bolagsverket has two
_BROKEN: Final = (*packing.BROKEN, OSError)  # what reading a damaged file raises
_WHOLE_NUMBER: Final = re.compile(r"([0-9]+)(?:\.0)?")  # `.0` if a program has stored it as a float
# Reasons to reject accounts, and names of counts, in the report.
NO_NUMBER: Final = "numéro de société absent"
NO_CLOSING: Final = "date de clôture absente"
NO_CURRENCY: Final = "devise absente"
UNREADABLE_NUMBER: Final = "nombre illisible"
UNKNOWN_KIND: Final = "nature de comptes inconnue"
UNKNOWN_CONCEPTS: Final = "concepts inconnus"
MOST_SLOW: Final = 10  # the most filings that can take too long; after one more the import stops
NO_LINE: Final = "aucun poste reconnu"
WITHOUT_CURRENCY: Final = "montants sans devise"
REPLACED: Final = "lignes remplacées par un dépôt ultérieur"
MOST_ROWS_IN_MEMORY: Final = 500_000  # rows in memory at once, at most
_ROW_BYTES: Final = 1_000  # estimated bytes of a row in memory
# Of several rows with the same values in these columns, the last filed is kept.
_LINE_KEY: Final = ("id", "exercice", "etat", "code")
# Columns in addition to the canonical columns: the text that sorts the accounts of a company (`FiledAccount.filed`),
# the closing date, whether it is that of the accounts (else the line is a figure of an earlier year), whether the line
# is a length of twelve months, and a hash of the company that divides companies into groups.
_ADDED_COLUMNS: Final = {
    "depot": pl.String(), "cloture": pl.Date(), "is_own": pl.Boolean(), "is_usual_length": pl.Boolean(),
    "tas": pl.Int64(),
}  # fmt: skip
# Closing dates of one fiscal year differ by some days at most, as years of 52 or 53 weeks do.
_SAME_CLOSING: Final = timedelta(days=31)
_HASH_VALUES: Final = 1 << 16  # values of the hash `tas`
_MONTHS_CODES: Final = (MONTHS_LINE, MONTHS_LINE + GROUP_SUFFIX)
PLUS: Final = " + "  # between the parts of an element that is a sum


# -- documents out of their packing --------------------------------------------------


class Document(NamedTuple):
    """A published file: its name without folders, and a function that opens it, unpacked."""

    name: str
    open: Callable[[], IO[bytes]]

    def read(self) -> bytes:
        """Read a document that is one filing.

        Raises:
            FilingError: a damaged file, or a file of more than LARGEST bytes.
        """
        return filing.content(self.open)


def documents(
    file: Path, suffixes: Collection[str], work: Path, *, is_alone: bool = False
) -> Iterator[Document]:
    """The documents in `file`, in the order of their names; read each before asking for the next.

    Of a zip, only members with one of `suffixes`, and the zips in it, are read, because registers add notes.
    A zip in the zip that cannot be opened is returned as a document, which cannot be read either.

    Args:
        work: a folder for copies of zips in the zip.
        is_alone: whether `file` is the only file of an import. If so, a format that no register publishes stops the
            import; among several files, such a file is only rejected.

    Raises:
        InputError: an only file in a format that no register publishes, a .zip that is not a zip, or a zip without
            such a member or with a member that is encrypted or compressed by an unknown method.
    """
    size = UnpackedSize(file, work)
    if not packing.is_zip(file):
        if is_alone:
            # The stream is opened only for its check, which raises an error for a format that no register publishes.
            packing.unpack(file.open("rb", buffering=0), size).close()
        name = packing.unpacked_name(file.name.removesuffix(".zip"))
        yield Document(name, lambda: packing.unpack(file.open("rb", buffering=0), size))
        return
    opened = _ZipDocuments(suffixes, work, size)
    with packing.open_zip(file) as archive:
        for info in packing.entries(archive):
            packing.refuse_unreadable(info, file)
        has_document = False
        for document in opened.documents(archive, 1):
            has_document = True
            yield document
        if not has_document:
            raise packing.no_member_error(file, archive, suffixes)


class _ZipDocuments:
    """Finds the documents of a zip, and those of the zips in it.

    Args:
        suffixes: the endings of the names of documents; other members are skipped.
        work: a folder for copies of zips in the zip.
        size: counts the unpacked bytes of the given file.
    """

    def __init__(self, suffixes: Collection[str], work: Path, size: UnpackedSize) -> None:
        self._suffixes = tuple(suffixes)
        self._work = work
        self._size = size

    def documents(self, archive: zipfile.ZipFile, depth: int) -> Iterator[Document]:
        """The documents of `archive`, which is inside `depth` - 1 other zips."""
        for info in packing.entries(archive):
            name = packing.unpacked_name(PurePosixPath(info.filename).name)
            document = Document(name, partial(packing.open_entry, archive, info, self._size))
            if name.lower().endswith(".zip"):
                yield from self._inner_documents(document, depth + 1)
            elif name.lower().endswith(self._suffixes):
                yield document

    def _inner_documents(self, packed: Document, depth: int) -> Iterator[Document]:
        """The documents of the zip `packed`; `packed` itself if it cannot be opened as a zip."""
        if depth > _DEEPEST:
            yield packed._replace(open=lambda: _refuse_nested_zip(packed.name))
            return
        with ExitStack() as open_files:
            try:
                archive = open_files.enter_context(packing.copied_zip(packed.open(), self._work))
            except _BROKEN as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise  # an error of the disk; an OSError of bz2 has no number
                yield packed
                return
            for document in self.documents(archive, depth):
                yield document._replace(name=f"{packed.name}/{document.name}")


def _refuse_nested_zip(name: str) -> IO[bytes]:
    """Raise the error about a zip that is nested too deeply; takes the place of the function that opens it."""
    raise zipfile.BadZipFile(f"{name} is the zip number {_DEEPEST + 1} in one another")


# -- the result of a reader ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FiledAccount:
    """Accounts as filed.

    Attributes:
        id: the company, in the register's form.
        closing: the last day of the fiscal year; some facts can be of earlier years.
        filed: a text that sorts the accounts of a company from old to new, such as the date of deposit.
        group: whether they are the accounts of the group that the company heads.
        unreadable: the number of facts of the filing that could not be read.
        unread: facts that have no legal number, with the value NaN; a line that is a sum with such a part is left out.
        start: the first day of the fiscal year, if the facts have no periods.
    """

    id: str
    closing: date
    facts: Sequence[Fact]
    filed: str
    group: bool = False
    unreadable: int = 0
    start: date | None = None
    unread: Sequence[Fact] = ()


@dataclass(frozen=True, slots=True)
class RefusedAccounts:
    """Accounts that are not imported; `on_purpose` if the accounts have no fault, but are left out."""

    id: str | None
    reason: str
    detail: str
    on_purpose: bool = False


AccountsResult = FiledAccount | RefusedAccounts
DocumentReader = Callable[[Document], Iterator[AccountsResult]]


def read_or_refuse(identifier: str | None, read: Callable[[], AccountsResult]) -> AccountsResult:
    """The result of `read`, or RefusedAccounts if it fails, so that the next accounts can be read."""
    try:
        return read()
    except FilingError as error:
        return RefusedAccounts(identifier, error.reason, error.detail)
    except UNREADABLE as error:
        return RefusedAccounts(identifier, MALFORMED, f"{type(error).__name__}: {error}")


def filing_order(day: str | None, number: str | int | None) -> str:
    """A text that sorts the filings of a company by day, then by the number that the register counts them with.

    >>> filing_order("2024-06-01", "999") < filing_order("2024-06-01", 1000)
    True
    """
    return f"{day or ''} {number or '':>20}"


def amount_fact(element: str, day: date, value: float, currency: str | None) -> Fact:
    """A fact with an exact amount and without a period: `value` is the amount of `element` on `day`."""
    return Fact(element, day, None, value, currency, inf)


def padded_number(value: Any, width: int) -> str | None:
    """A published company number of `width` digits, without blanks and with its leading zeros.

    The result is None if `value` is empty, or is not a text or a number.

    >>> padded_number(16250110.0, 9), padded_number(" 016 250 128", 9), padded_number([1], 9)
    ('016250110', '016250128', None)
    """
    if not value or isinstance(value, bool | list | dict):
        return None
    text = "".join(str(value).split())
    number = _WHOLE_NUMBER.fullmatch(text)
    return number[1].zfill(width) if number else text or None


def parse_number(value: str | float | None) -> float | None:
    """A published number, in a text or not; None for an empty text.

    >>> parse_number(" -1 250.50 "), parse_number("")
    (-1250.5, None)

    Raises:
        FilingError: the text is not a finite number.
    """
    text = "" if value is None else str(value)
    digits = text.replace(" ", "").replace("\N{NO-BREAK SPACE}", "")
    if not digits:
        return None
    number = float(digits) if filing.NUMBER.fullmatch(digits) else nan
    if not isfinite(number):
        raise FilingError(UNREADABLE_NUMBER, repr(value))
    return number


def parse_day(text: str | None) -> date:
    """The date of a text such as `2024-12-31` or `20241231`; a time after it is ignored.

    Raises:
        FilingError: the text is not a date.
    """
    try:
        return date.fromisoformat((text or "").strip()[: 10 if "-" in (text or "") else 8])
    except ValueError as error:
        raise FilingError(NO_CLOSING, repr(text)) from error


def list_elements(value: Any) -> list[Any]:
    """The elements of one name in an XML record as a list; for a single element `record_stream` makes no list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def element_text(value: Any) -> str:
    """The text of an element in an XML record of `record_stream`; empty if it is missing or has no text."""
    return str(value.get("$", "")).strip() if isinstance(value, dict) else ""


# -- the import ----------------------------------------------------------------------


@dataclass(slots=True)
class FilingOutcome:
    """The counts of the filings: read = kept + rejected + dropped (`_Import.dropped`).

    Attributes:
        tally: the counts of the facts.
        rejected: rows in the columns of `register.REJECTED`.
        slow: the number of filings that took too long.
    """

    tally: Tally = field(default_factory=Tally)
    rejected: list[dict[str, str | int | None]] = field(default_factory=list)
    read: int = 0
    kept: int = 0
    slow: int = 0

    def reject(
        self, file: str, identifier: str | None, error: FilingError, row: int | None = None
    ) -> None:
        """Record why the filing `file` of the company `identifier`, or account number `row` in it, is rejected.

        Raises:
            InputError: more than MOST_SLOW filings took too long, so the others probably would, too.
        """
        self.rejected.append(
            {
                "fichier": file,
                "ligne": row,
                "id": identifier,
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
        """The counts as every import reports them, with the most common unknown concepts."""
        tally = self.tally
        unknown_with_counts = [
            f"{concept} ({n})" for concept, n in tally.unknown.most_common(4 * EXAMPLES)
        ]
        return RowCounts(
            read=self.read,
            kept=self.kept,
            rejected=dict(sorted(Counter(str(row["motif"]) for row in self.rejected).items())),
            noted={UNKNOWN_CONCEPTS: tally.unknown.total()} if tally.unknown else {},
            ignored=dict(sorted(tally.ignored.items())),
            examples={UNKNOWN_CONCEPTS: tuple(unknown_with_counts)} if unknown_with_counts else {},
            detail={title: n for title, n in sorted(tally.counts.items()) if n},
        )


@dataclass(slots=True)
class _Import:
    """The state of an import: the elements of the source, the counts of filings, the written files.

    Attributes:
        has_rows: whether a document can contain many accounts; if so, a rejected account also has its number.
        batch: rows that are not written yet.
        lines: the number of rows so far, without lengths of twelve months.
    """

    iso2: str
    taxonomy: Taxonomy
    work: Path
    has_rows: bool
    outcome: FilingOutcome = field(default_factory=FilingOutcome)
    dropped: Counter[str] = field(default_factory=Counter)
    batch: list[CanonicalRow] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)
    lines: int = 0


def register(
    source: str,
    iso2: str,
    suffixes: Sequence[str],
    reader: DocumentReader,
    *,
    is_one_filing: bool = False,
) -> Register:
    """The register whose documents `reader` reads; of a zip, the members with one of `suffixes`.

    Args:
        is_one_filing: whether a document is one filing, which is then read within `filing.reading_limits`.
    """
    read_document = _with_reading_limits(reader) if is_one_filing else reader

    def read(files: Sequence[Path], work: Path, memory: int | None = None) -> RegisterRows:
        """Import all documents in `files` (see `Register.read`)."""
        import_state = _Import(iso2, chart.load_elements(source), work, has_rows=not is_one_filing)
        for file in files:
            published = documents(file, suffixes, work, is_alone=len(files) == 1)
            progress = tqdm(published, desc=file.name, unit="", leave=False, disable=None)
            for document in progress:
                _add_document(import_state, document, read_document)
        _write_batch(import_state)
        lines = _last_filed_lines(
            import_state, rows_within(memory, _ROW_BYTES, MOST_ROWS_IN_MEMORY)
        )
        counts = import_state.outcome.row_counts()
        return RegisterRows(
            stems=tuple(dict.fromkeys(packing.stem(file) for file in files)),
            kept=lines,
            rejected=pl.LazyFrame(import_state.outcome.rejected, schema=dict(REJECTED)),
            counts=replace(counts, dropped=dict(sorted(import_state.dropped.items()))),
        )

    return Register(source=source, table="comptes", read=read)


def _with_reading_limits(reader: DocumentReader) -> DocumentReader:
    """The reader, but it reads all accounts of a document at once, within `filing.reading_limits`."""

    def read(document: Document) -> Iterator[AccountsResult]:
        """All accounts of a document, which is then read to its end."""
        with filing.reading_limits():
            accounts = list(reader(document))
        return iter(accounts)

    return read


def _add_document(import_state: _Import, document: Document, reader: DocumentReader) -> None:
    """Add the accounts of one document to the import, or record why each of them is dropped or rejected.

    Raises:
        InputError: a document with many accounts is damaged.
    """
    outcome = import_state.outcome
    read_before = outcome.read
    try:
        for number, account in enumerate(reader(document), start=1):
            outcome.read += 1
            try:
                if isinstance(account, FiledAccount):
                    _add_account(import_state, account)
                elif account.on_purpose:
                    import_state.dropped[account.reason] += 1
                else:
                    raise FilingError(account.reason, account.detail)
            except UNREADABLE as unexpected:
                malformed = FilingError(MALFORMED, f"{type(unexpected).__name__}: {unexpected}")
                outcome.reject(
                    document.name, str(account.id), malformed, _account_number(import_state, number)
                )
            except FilingError as error:
                outcome.reject(
                    document.name, account.id, error, _account_number(import_state, number)
                )
        if outcome.read == read_before:
            raise FilingError(NO_LINE, "aucun compte")
    except FilingError as error:
        outcome.read += 1
        outcome.reject(document.name, None, error)
    except (RecordError, *_BROKEN) as error:
        # A document with many accounts is one download; half of it must not be imported as if it were complete.
        raise InputError(f"{document.name}: {error}; download it again") from error


def _account_number(import_state: _Import, number: int) -> int | None:
    """The number of an account in its document, for the rejected rows; None if a document is one filing."""
    return number if import_state.has_rows else None


def _add_account(import_state: _Import, account: FiledAccount) -> None:
    """Add the lines of an account to the import.

    Raises:
        FilingError: the account has no line or no currency, or its identifier cannot be of a company.
    """
    outcome = import_state.outcome
    if not is_identifier(import_state.iso2, account.id):
        raise FilingError(NO_COMPANY, account.id)
    outcome.tally.counts["faits illisibles"] += account.unreadable
    computed_facts = add_up_parts([*account.unread, *account.facts], import_state.taxonomy)
    facts = [*account.facts, *computed_facts]
    amounts = statement.amounts(
        facts, account.closing, import_state.taxonomy, outcome.tally, account.start, account.unread
    )
    if not amounts:
        raise FilingError(NO_LINE, f"{len(account.facts)} faits")
    with_currency = [amount for amount in amounts if amount.devise or amount.line.is_count]
    outcome.tally.counts[WITHOUT_CURRENCY] += len(amounts) - len(with_currency)
    amounts = with_currency
    if all(amount.line.code == MONTHS_LINE for amount in amounts):
        raise FilingError(NO_CURRENCY, f"{len(account.facts)} faits")
    outcome.kept += 1
    computed_keys = computed_lines(computed_facts, import_state.taxonomy)
    amounts = [
        line_amount._replace(
            group=account.group,
            computed=line_amount.computed
            or (line_amount.exercice, line_amount.line.code) in computed_keys,
        )
        for line_amount in amounts
    ]
    hash_value = zlib.crc32(account.id.encode()) % _HASH_VALUES
    closings: dict[object, date | None] = {
        line_amount.exercice: line_amount.closing for line_amount in amounts
    }
    for row in statement.amount_rows(import_state.iso2, account.id, amounts):
        is_usual_length = row["code"] in _MONTHS_CODES and row["valeur"] == 12
        import_state.lines += not is_usual_length
        closing = closings[row["exercice"]]
        added = {
            "depot": account.filed,
            "cloture": closing,
            "is_own": closing == account.closing,
            "is_usual_length": is_usual_length,
            "tas": hash_value,
        }
        import_state.batch.append(row | added)
    if len(import_state.batch) >= BATCH:
        _write_batch(import_state)


def _write_batch(import_state: _Import) -> None:
    """Write the batch to a Parquet file in the work folder."""
    if import_state.batch:
        path = import_state.work / f"depots-{len(import_state.written):05}.parquet"
        pl.DataFrame(import_state.batch, schema={**COMPTES, **_ADDED_COLUMNS}).write_parquet(path)
        import_state.written.append(path)
        import_state.batch.clear()


def _last_filed_lines(import_state: _Import, rows_in_memory: int) -> pl.LazyFrame:
    """The last filed line of each company, year and code, in the order of the chart.

    Of two closing dates in one calendar year, the later counts, as within a filing (rule 2 of `statement`), but the
    closing dates of accounts come before those of figures of an earlier year, which can be wrong. The companies are
    divided by the hash `tas` into parts of about `rows_in_memory` rows. Each part is computed alone.
    """
    part_count = -(-import_state.lines // rows_in_memory)
    counts = import_state.outcome.tally.counts
    parts_of_lines: list[pl.LazyFrame] = [pl.LazyFrame(schema=dict(COMPTES))]
    for part in range(part_count):
        path = import_state.work / f"lignes-{part:05}.parquet"
        lines = _last_filed_part(import_state.written, part, part_count)
        lines.write_parquet(path)
        parts_of_lines.append(pl.scan_parquet(path))
        counts["lignes écrites"] += lines.height
        counts["sociétés"] += lines["id"].n_unique()
        counts["exercices"] += lines.select("id", "exercice").n_unique()
    counts[REPLACED] += import_state.lines - counts["lignes écrites"]
    return pl.concat(parts_of_lines)


def _last_filed_part(written: Sequence[Path], part: int, part_count: int) -> pl.DataFrame:
    """The last filed lines of the companies in part number `part` (from 0) of `part_count`.

    A length of twelve months replaces another length of the year, and is then left out (rule 7 of `statement`).
    """
    rows_of_part = pl.scan_parquet(list(written)).filter(
        pl.col("tas") * part_count // _HASH_VALUES == part
    )
    statement_place = pl.col("etat").replace_strict(ETATS, range(len(ETATS)), return_dtype=pl.Int8)
    own_closing = pl.when("is_own").then("cloture")
    closing = pl.coalesce(own_closing.max(), pl.col("cloture").max()).over("id", "exercice")
    return (
        rows_of_part.filter((pl.col("cloture") - closing).abs() <= _SAME_CLOSING)
        .sort("depot", "valeur", "libelle", descending=True)
        .unique(_LINE_KEY, keep="first", maintain_order=True)
        .filter(~pl.col("is_usual_length"))
        .sort("id", "exercice", statement_place, "ordre")
        .select(list(COMPTES))
        .collect()
    )


# -- sums of parts -------------------------------------------------------------------


def add_up_parts(facts: Sequence[Fact], taxonomy: Taxonomy) -> list[Fact]:
    """The facts that are sums of other `facts` on the same day; the key of a sum is its element in `taxonomy`.

    A sum is left out if its line has a fact on that day, if its parts have several currencies, or if a part is NaN.
    """
    # A readable fact comes after an unread fact of the same key (NaN), so the readable fact is taken.
    fact_at = {(fact.key, fact.day): fact for fact in facts}
    stated_lines = {
        (taxonomy.lines[key].line.code, day) for key, day in fact_at if key in taxonomy.lines
    }
    days = sorted({fact.day for fact in facts})
    sums: list[Fact] = []
    for element, mapped in taxonomy.lines.items():
        if PLUS not in element:
            continue
        for day in days:
            parts = [fact_at[key, day] for key in element.split(PLUS) if (key, day) in fact_at]
            has_one_currency = len({part.currency for part in parts}) == 1
            total = sum(part.value for part in parts)
            if has_one_currency and isfinite(total) and (mapped.line.code, day) not in stated_lines:
                sums.append(parts[0]._replace(key=element, value=total))
    return sums


def computed_lines(facts: Sequence[Fact], taxonomy: Taxonomy) -> set[tuple[int, str]]:
    """The fiscal year and the code of the line of each fact; `facts` are sums that `add_up_parts` returned."""
    return {(fact.day.year, taxonomy.lines[fact.key].line.code) for fact in facts}
