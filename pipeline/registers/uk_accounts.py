"""United Kingdom: the accounts companies file with Companies House ("Accounts Data Product").

A bulk zip holds filings, XBRL or iXBRL, named `Prod223_<run>_<company number>_<closing date>`. Each
gives the lines of its fiscal year and of the one before; of two filings of a company the later
wins, line by line.

Filings are read one at a time, a company's together: the names alone say the order, so memory holds
one company and one batch of lines whatever the number of filings. A filing that cannot be read, or
that states another company's number than its name does, goes to rejected/ and never stops the
import.
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


class Member(NamedTuple):
    """A filing where it lies: a zip and the name in it, or a file by itself."""

    deposit: FilingName
    file: Path
    name: str | None


@dataclass(slots=True)
class FilingOutcome:
    """What became of the filings, kept small: counts, and the rejected ones by name."""

    tally: Tally = field(default_factory=Tally)
    rejected: list[dict[str, str | None]] = field(default_factory=list)
    lus: int = 0
    gardes: int = 0

    def reject(self, nom: str, numero: str | None, error: FilingError) -> None:
        """Note that the filing `nom` gives nothing, and why."""
        self.rejected.append(
            {"fichier": nom, "id": numero, "motif": error.motif, "detail": error.detail}
        )


def read(files: Sequence[Path], work: Path) -> RegisterRows:
    """Read bulk zips of filings, or filings by themselves."""
    taxonomy = frc_taxonomy.load()
    outcome = FilingOutcome()
    members = sorted(_members(files, outcome), key=lambda member: member.deposit)
    outcome.lus += len(members)
    batches = _write(_companies(members, taxonomy, outcome), work)
    empty = pl.LazyFrame(schema=dict(COMPTES))
    return RegisterRows(
        stems=tuple(dict.fromkeys(source_file.stem(file) for file in files)),
        kept=pl.concat([empty, *(pl.scan_parquet(path) for path in batches)]),
        rejected=pl.LazyFrame(outcome.rejected, schema=dict(REJECTED)),
        counts=_counts(outcome),
    )


def _members(files: Sequence[Path], outcome: FilingOutcome) -> Iterator[Member]:
    for file in files:
        for nom, name in _names(file):
            try:
                yield Member(filing.parse_name(nom), file, name)
            except FilingError as error:
                outcome.lus += 1
                outcome.reject(nom, None, error)


def _names(file: Path) -> Iterator[tuple[str, str | None]]:
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
    members: Iterable[Member], taxonomy: Taxonomy, outcome: FilingOutcome
) -> Iterator[list[dict[str, object]]]:
    """The lines of each company in turn, by fiscal year, statement and place."""
    shown = tqdm(members, desc="dépôts", unit="", disable=None, leave=False)
    with ExitStack() as stack:
        archives: dict[Path, zipfile.ZipFile] = {}
        for numero, deposits in groupby(shown, key=lambda member: member.deposit.numero):
            found: dict[tuple[int, str], Amount] = {}
            for member in deposits:
                if member.name is not None and member.file not in archives:
                    archives[member.file] = stack.enter_context(zipfile.ZipFile(member.file))
                try:
                    lines = _lines(member, archives, taxonomy, outcome.tally)
                except FilingError as error:
                    outcome.reject(member.deposit.nom, numero, error)
                    continue
                outcome.gardes += 1
                found |= {(line.exercice, line.line.code): line for line in lines}
            if found:
                outcome.tally.compte["sociétés"] += 1
                outcome.tally.compte["exercices"] += len({year for year, _ in found})
                outcome.tally.compte["lignes écrites"] += len(found)
                yield [_row(numero, amount) for amount in sorted(found.values(), key=_place)]


def _lines(
    member: Member, archives: Mapping[Path, zipfile.ZipFile], taxonomy: Taxonomy, tally: Tally
) -> list[Amount]:
    deposit, file, name = member
    opened = file.open("rb") if name is None else archives[file].open(name)
    try:
        with opened as stream:
            accounts = filing.parse(stream)
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise FilingError("fichier abîmé", str(error)) from error
    if accounts.numeros and deposit.numero not in accounts.numeros:
        raise FilingError(CONTRADICTED, ", ".join(sorted(accounts.numeros)))
    tally.compte["faits illisibles"] += accounts.illisibles
    lines = statement.amounts(accounts.facts, deposit.cloture, taxonomy, tally)
    if not lines:
        raise FilingError(NO_LINE, f"{len(accounts.facts)} faits")
    return lines


def _place(amount: Amount) -> tuple[int, int, int]:
    return amount.exercice, ETATS.index(amount.line.etat), amount.line.ordre


def _row(numero: str, amount: Amount) -> dict[str, object]:
    return {
        "iso2": "UK",
        "id": numero,
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
    unknown = {"concepts inconnus": tally.inconnus.total()} if tally.inconnus else {}
    often = [f"{concept} ({n})" for concept, n in tally.inconnus.most_common(4 * EXAMPLES)]
    return RowCounts(
        lus=outcome.lus,
        gardes=outcome.gardes,
        rejetes=dict(sorted(Counter(str(row["motif"]) for row in outcome.rejected).items())),
        traites=unknown,
        ignores=dict(sorted(tally.ignores.items())),
        exemples={"concepts inconnus": tuple(often)} if often else {},
        detail={what: n for what, n in sorted(tally.compte.items()) if n},
    )


REGISTER: Final = Register(source="uk-accounts", table="comptes", read=read)
