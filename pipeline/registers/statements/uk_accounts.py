"""United Kingdom: accounts filed with Companies House ("Accounts Data Product").

A bulk zip holds filings, XBRL or iXBRL, named `Prod223_<run>_<company number>_<closing date>`. A
filing gives the lines of its fiscal year and of the year before. Of two filings of a company the
later one wins, line by line.

Filings are read one at a time, company by company. Their names give the order, so memory holds one
company and one batch of lines, whatever the number of filings. A filing that cannot be read, or
that states another company number than its name, goes to `rejected/` and does not stop the import.
"""

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

import polars as pl
from tqdm import tqdm

from pipeline.canonical import InputError
from pipeline.registers import packing
from pipeline.registers.register import REJECTED, Register, RegisterRows
from pipeline.registers.statements import filing, statement, statement_rows, taxonomy
from pipeline.registers.statements.filing import FilingError, FilingName
from pipeline.registers.statements.outcome import FilingOutcome, Tally
from pipeline.registers.statements.statement_rows import Amount, Row
from pipeline.registers.statements.taxonomy import Taxonomy

SOURCE: Final = "uk-accounts"
CONTRADICTED: Final = "numéro contredit par le dépôt"
NO_LINE: Final = "aucun poste reconnu"


class FilingPlace(NamedTuple):
    """The place of a filing: a zip and the member in it, or a file of its own (`member` None)."""

    name: FilingName
    file: Path
    member: str | None


def read(files: Sequence[Path], work: Path, memory: int | None = None) -> RegisterRows:
    """Read bulk zips of filings, or single filings: a company at a time, in any amount of memory.

    Raises:
        InputError: a .zip that is no zip.
    """
    del memory
    known = taxonomy.load(SOURCE)
    outcome = FilingOutcome()
    places = sorted(_places(files, outcome), key=lambda place: place.name)
    outcome.read += len(places)
    kept = statement_rows.write(_companies(places, known, outcome), work)
    return RegisterRows(
        stems=tuple(dict.fromkeys(packing.stem(file) for file in files)),
        kept=kept,
        rejected=pl.LazyFrame(outcome.rejected, schema=dict(REJECTED)),
        counts=outcome.row_counts(),
    )


def _places(files: Sequence[Path], outcome: FilingOutcome) -> Iterator[FilingPlace]:
    for file in files:
        for name, member in _names(file):
            try:
                yield FilingPlace(filing.parse_name(name), file, member)
            except FilingError as error:
                outcome.read += 1
                outcome.reject(name, None, error)


def _names(file: Path) -> Iterator[tuple[str, str | None]]:
    """The file name of each filing in `file`, and its member in the zip."""
    if file.suffix != ".zip":
        yield file.name, None
        return
    try:
        with zipfile.ZipFile(file) as archive:
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
    except zipfile.BadZipFile as error:
        raise InputError(f"{file} is no zip ({error}); download it again") from error
    for name in names:
        yield PurePosixPath(name).name, name


def _companies(
    places: Iterable[FilingPlace], known: Taxonomy, outcome: FilingOutcome
) -> Iterator[list[Row]]:
    """The lines of each company in turn, by fiscal year, statement and position."""
    shown = tqdm(places, desc="filings", unit="", disable=None, leave=False)
    with ExitStack() as stack:
        archives: dict[Path, zipfile.ZipFile] = {}
        for number, filings in groupby(shown, key=lambda place: place.name.number):
            found: dict[tuple[int, str], Amount] = {}
            for place in filings:
                if place.member is not None and place.file not in archives:
                    archives[place.file] = stack.enter_context(zipfile.ZipFile(place.file))
                try:
                    with filing.within_limits():
                        lines = _lines(place, archives, known, outcome.tally)
                except FilingError as error:
                    outcome.reject(place.name.file, number, error)
                    continue
                outcome.kept += 1
                found |= {(line.exercice, line.line.code): line for line in lines}
            if found:
                outcome.tally.counts["sociétés"] += 1
                outcome.tally.counts["exercices"] += len({year for year, _ in found})
                outcome.tally.counts["lignes écrites"] += len(found)
                yield statement_rows.rows("UK", number, found.values())


def _lines(
    place: FilingPlace, archives: Mapping[Path, zipfile.ZipFile], known: Taxonomy, tally: Tally
) -> list[Amount]:
    name, file, member = place
    packed = filing.content(
        lambda: file.open("rb") if member is None else archives[file].open(member)
    )
    accounts = filing.parse(io.BytesIO(packed))
    if accounts.company_numbers and name.number not in accounts.company_numbers:
        raise FilingError(CONTRADICTED, ", ".join(sorted(accounts.company_numbers)))
    tally.counts["faits illisibles"] += accounts.unreadable
    lines = statement.amounts(accounts.facts, name.closing, known, tally)
    if not lines:
        raise FilingError(NO_LINE, f"{len(accounts.facts)} faits")
    return lines


REGISTER: Final = Register(source=SOURCE, table="comptes", read=read)
