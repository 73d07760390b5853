"""United Kingdom: accounts filed with Companies House ("Accounts Data Product").

A bulk zip holds filings, XBRL or iXBRL, named `Prod223_<run>_<company number>_<closing date>`. A
filing gives the lines of its fiscal year and of the year before. Of two filings of a company the
later one wins, line by line.

Filings are read one at a time, company by company. Their names give the order, so memory holds one
company and one batch of lines, whatever the number of filings. A filing that cannot be read, or
that states another company number than its name, goes to `rejected/` and does not stop the import.
"""

import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

import polars as pl
from tqdm import tqdm

from pipeline.canonical import COMPTES, ETATS, InputError
from pipeline.registers import filing, frc_taxonomy, source_file, statement
from pipeline.registers.filing import FilingError, FilingName
from pipeline.registers.frc_taxonomy import Taxonomy
from pipeline.registers.register import EXAMPLES, REJECTED, Register, RegisterRows, RowCounts
from pipeline.registers.statement import Amount, Tally

BATCH: Final = 50_000  # lines written at a time
CONTRADICTED: Final = "numéro contredit par le dépôt"
NO_LINE: Final = "aucun poste reconnu"


class FilingPlace(NamedTuple):
    """The place of a filing: a zip and the member in it, or a file of its own (`member` None)."""

    name: FilingName
    file: Path
    member: str | None


@dataclass(slots=True)
class FilingOutcome:
    """The account of the filings: counts, and the rejected filings by name."""

    tally: Tally = field(default_factory=Tally)
    rejected: list[dict[str, str | None]] = field(default_factory=list)
    read: int = 0
    kept: int = 0

    def reject(self, file: str, number: str | None, error: FilingError) -> None:
        """Record that the filing `file` gives nothing, with the reason."""
        self.rejected.append(
            {"fichier": file, "id": number, "motif": error.reason, "detail": error.detail}
        )


def read(files: Sequence[Path], work: Path) -> RegisterRows:
    """Read bulk zips of filings, or single filings.

    Raises:
        InputError: a .zip that is no zip.
    """
    taxonomy = frc_taxonomy.load()
    outcome = FilingOutcome()
    places = sorted(_places(files, outcome), key=lambda place: place.name)
    outcome.read += len(places)
    batches = _write(_companies(places, taxonomy, outcome), work)
    empty = pl.LazyFrame(schema=dict(COMPTES))
    return RegisterRows(
        stems=tuple(dict.fromkeys(source_file.stem(file) for file in files)),
        kept=pl.concat([empty, *(pl.scan_parquet(path) for path in batches)]),
        rejected=pl.LazyFrame(outcome.rejected, schema=dict(REJECTED)),
        counts=_counts(outcome),
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
    places: Iterable[FilingPlace], taxonomy: Taxonomy, outcome: FilingOutcome
) -> Iterator[list[dict[str, object]]]:
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
                    lines = _lines(place, archives, taxonomy, outcome.tally)
                except FilingError as error:
                    outcome.reject(place.name.file, number, error)
                    continue
                outcome.kept += 1
                found |= {(line.exercice, line.line.code): line for line in lines}
            if found:
                outcome.tally.counts["sociétés"] += 1
                outcome.tally.counts["exercices"] += len({year for year, _ in found})
                outcome.tally.counts["lignes écrites"] += len(found)
                yield [_row(number, amount) for amount in sorted(found.values(), key=_position)]


def _lines(
    place: FilingPlace, archives: Mapping[Path, zipfile.ZipFile], taxonomy: Taxonomy, tally: Tally
) -> list[Amount]:
    name, file, member = place
    opened = file.open("rb") if member is None else archives[file].open(member)
    try:
        with opened as stream:
            accounts = filing.parse(stream)
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise FilingError("fichier abîmé", str(error)) from error
    if accounts.company_numbers and name.number not in accounts.company_numbers:
        raise FilingError(CONTRADICTED, ", ".join(sorted(accounts.company_numbers)))
    tally.counts["faits illisibles"] += accounts.unreadable
    lines = statement.amounts(accounts.facts, name.closing, taxonomy, tally)
    if not lines:
        raise FilingError(NO_LINE, f"{len(accounts.facts)} faits")
    return lines


def _position(amount: Amount) -> tuple[int, int, int]:
    return amount.exercice, ETATS.index(amount.line.etat), amount.line.ordre


def _row(number: str, amount: Amount) -> dict[str, object]:
    return {
        "iso2": "UK",
        "id": number,
        "exercice": amount.exercice,
        "etat": amount.line.etat,
        "code": amount.line.code,
        "libelle": amount.libelle,
        "valeur": amount.valeur,
        "devise": amount.devise,
        "ordre": amount.line.ordre,
    }


def _write(companies: Iterable[list[dict[str, object]]], work: Path) -> list[Path]:
    written: list[Path] = []
    batch: list[dict[str, object]] = []
    for lines in companies:
        batch += lines
        if len(batch) >= BATCH:
            written.append(_flush(batch, work, len(written)))
            batch = []
    return [*written, _flush(batch, work, len(written))] if batch else written


def _flush(batch: list[dict[str, object]], work: Path, number: int) -> Path:
    path = work / f"lignes-{number:05d}.parquet"
    pl.DataFrame(batch, schema=dict(COMPTES)).write_parquet(path)
    return path


def _counts(outcome: FilingOutcome) -> RowCounts:
    tally = outcome.tally
    unknown = {"concepts inconnus": tally.unknown.total()} if tally.unknown else {}
    often = [f"{concept} ({n})" for concept, n in tally.unknown.most_common(4 * EXAMPLES)]
    return RowCounts(
        read=outcome.read,
        kept=outcome.kept,
        rejected=dict(sorted(Counter(str(row["motif"]) for row in outcome.rejected).items())),
        noted=unknown,
        ignored=dict(sorted(tally.ignored.items())),
        examples={"concepts inconnus": tuple(often)} if often else {},
        detail={what: n for what, n in sorted(tally.counts.items()) if n},
    )


REGISTER: Final = Register(source="uk-accounts", table="comptes", read=read)
