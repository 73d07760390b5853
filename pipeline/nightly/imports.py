"""The imports of a nightly run: each edition in a folder of its own, named by all that its content depends on.

    WORK/input/<source>/<key>/      the output of one import, whole or absent
    WORK/input/<source>.json        the imports that the next build takes

The key is made of the published bytes, the code and the tables, so an edition is imported once, a run that was killed
finds what it had finished, and nothing is ever half of one edition and half of another. An import is read whole before
it is taken again (`digests`): one that was damaged since is made anew. A source whose import fails
keeps the imports that it had. Sources whose editions add up have an import for each file.
"""

import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from pipeline import canonical, console, digests, importing, seeds
from pipeline.canonical import InputError
from pipeline.errors import BuildError
from pipeline.nightly import published_files
from pipeline.publishing import country
from pipeline.registers import FOLDER, REGISTERS, file_set
from pipeline.registers.register import RowCounts
from pipeline.registers.toml import entity
from pipeline.stages import identifiers
from pipeline.stages.rejections import MAX_SHARE
from pipeline.workers.isolation import Limits
from seeds import TABLES
from shards.generations import atomic_files
from shards.generations import manifest as manifests
from shards.generations.publication import LEAST_SHARE

_KEY_DIGITS: Final = 16
_MOST_UNREADABLE: Final = 0.25  # share of the rows with a value of one field that cannot be read


@dataclass(frozen=True, slots=True)
class EditionImport:
    """One import; the attributes are the keys of its JSON.

    Attributes:
        cle: the name of its folder.
        comptage: the account of the rows, as in the report of an import.
        dates: of the files that have one, by name; in the `sources.json` of its folder.
    """

    cle: str
    fichiers: tuple[str, ...]
    comptage: dict[str, Any]
    dates: Mapping[str, str]

    @property
    def kept_rows(self) -> int:
        """The rows that it gave."""
        return int(self.comptage["gardes"])

    @property
    def date(self) -> str | None:
        """The date of the edition: the oldest of its files."""
        return min(self.dates.values(), default=None)

    def list_entry(self) -> dict[str, Any]:
        """Its entry in the list of imports."""
        return {"cle": self.cle, "fichiers": self.fichiers, "comptage": self.comptage}


@dataclass(frozen=True, slots=True)
class SourceImports:
    """The imports of a source that a build takes.

    Attributes:
        fresh: the keys of those that were made in this run.
        failures: why files of the source are not among them.
    """

    source: str
    imports: tuple[EditionImport, ...]
    fresh: tuple[str, ...] = ()
    failures: tuple[str, ...] = field(default=())

    def folders(self, work: Path) -> list[Path]:
        """Their folders, which are inputs of a build."""
        return [_folder(work, self.source) / one.cle for one in self.imports]


def run(
    source: str,
    raw: Path,
    work: Path,
    *,
    accept: bool,
    limits: Limits,
    max_rejected: float | None = None,
    most_in_build: float = MAX_SHARE,
    memory: int | None = None,
) -> SourceImports:
    """Import what is new of a source in `raw`.

    Args:
        accept: take an import that has far fewer rows than the one before, is of an older edition, has
            rejected more rows than is credible, or would close a gate of the build.
        max_rejected: the share of rejected rows that is credible; None for that of the register.
        most_in_build: the share of a country's rows that the build may reject.
        memory: bytes that an import may take; None for what is usual.
        limits: of the process of each import.

    Raises:
        BuildError: the list of the imports before cannot be understood.
        OSError: the disk failed.
    """
    before = _read(work, source)
    files = _files(raw / source)
    if not files:
        reason = f"no file in {raw / source}; fetch one, or put it there"
        return SourceImports(source, before, failures=(reason,))
    folder = _folder(work, source)
    folder.mkdir(parents=True, exist_ok=True)
    for dead in folder.glob(f"{atomic_files.STAGED}*"):
        shutil.rmtree(dead)
    adds_up = _adds_up(source)
    taken: list[EditionImport] = []
    fresh: list[str] = []
    failures: list[str] = []
    whole = {edition.cle for edition in before}
    copied = dict(file_set.copies(files, is_whole=False)) if adds_up else {}
    for group in _groups(source, files):
        if why := copied.get(group[0]):
            failures.append(why)
            continue
        try:
            edition, made = _import(source, group, folder, whole, memory, limits)
            if edition.cle not in whole:
                identifiers.refuse_duplicates_in_import(
                    sorted((folder / edition.cle / "companies").glob("*.parquet"))
                )
            if not accept:
                _refuse_rejections(source, edition, max_rejected)
                _refuse_unreadable(source, edition)
                if edition.cle not in whole:
                    _refuse_closed_gates(source, edition, folder, most_in_build)
            if not adds_up and not accept:
                _refuse_losses(source, edition, before)
                _refuse_older(source, edition, before)
        except (BuildError, InputError) as error:
            failures.append(str(error))
        else:
            taken.append(edition)
            fresh += [edition.cle] if made else []
    if failures and not adds_up:
        return SourceImports(source, before, failures=tuple(failures))
    atomic_files.write(
        _pointer(work, source),
        digests.dump_record({"imports": [edition.list_entry() for edition in taken]}),
    )
    return SourceImports(source, tuple(taken), tuple(fresh), tuple(failures))


def pending_files(source: str, raw: Path, work: Path) -> tuple[list[str], list[str]]:
    """The files in `raw` that `run` would import, and those that it has imported. Writes nothing."""
    fresh: list[str] = []
    done: list[str] = []
    for group in _groups(source, _files(raw / source)):
        is_done = (_folder(work, source) / _key(source, group)).is_dir()
        (done if is_done else fresh).extend(file.name for file in group)
    return fresh, done


def prune(sources: Sequence[SourceImports], work: Path) -> int:
    """Delete the imports that no build takes any more; return their number."""
    removed = 0
    for one in sources:
        used = {made.cle for made in one.imports}
        for folder in _folder(work, one.source).glob("*"):
            if folder.name not in used:
                shutil.rmtree(folder)
                removed += 1
    return removed


def _adds_up(source: str) -> bool:
    return any(file.editions > 1 for file in published_files.read()[source])


def _groups(source: str, files: list[Path]) -> list[list[Path]]:
    """The files of each import."""
    if _adds_up(source):
        return [[file] for file in files]
    return [files] if files else []


def _import(
    source: str,
    files: Sequence[Path],
    folder: Path,
    whole: Collection[str],
    memory: int | None,
    limits: Limits,
) -> tuple[EditionImport, bool]:
    """The import of these files, and whether it was made now; those of `whole` have been checked."""
    key = _key(source, files)
    if made := key not in whole and not digests.is_whole(folder / key):
        shutil.rmtree(folder / key, ignore_errors=True)
        staged = Path(tempfile.mkdtemp(prefix=atomic_files.STAGED, dir=folder))
        try:
            importing.run_isolated(limits, source, files, staged, memory=memory)
            digests.seal_folder(staged)
            atomic_files.settle(staged, folder / key)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    (report,) = (folder / key / "imports").glob("*.json")
    names = tuple(file.name for file in files)
    counts = orjson.loads(report.read_bytes())["comptage"]
    return EditionImport(key, names, counts, _dates(folder / key)), made


def _dates(folder: Path) -> dict[str, str]:
    """The dates of the files of an import, by name."""
    imports = [one for found in canonical.read_sources(folder).values() for one in found]
    return {file.nom: file.date for one in imports for file in one.fichiers if file.date}


def _key(source: str, files: Sequence[Path]) -> str:
    """The digest of all that an import of these files depends on."""
    parts = [
        source,
        digests.code_version(),
        digests.folder_digest(FOLDER, "*.toml"),
        digests.folder_digest(TABLES, "*.csv"),
        *(part for file in files for part in (file.name, manifests.digest(file).blake3)),
    ]
    return digests.digest([(b"", part.encode()) for part in parts])[:_KEY_DIGITS]


def _refuse_losses(source: str, edition: EditionImport, before: Sequence[EditionImport]) -> None:
    """Refuse an edition that lost companies, as a gate of the publication does for a country."""
    kept = sum(other.kept_rows for other in before)
    if edition.kept_rows < LEAST_SHARE * kept:
        raise BuildError(
            f"{', '.join(edition.fichiers)}: {edition.kept_rows:,} rows are kept, {kept:,} were of the edition before;"
            f" --accept {source} takes it all the same"
        )


def _refuse_rejections(source: str, edition: EditionImport, most: float | None) -> None:
    """Refuse an edition whose rows are mostly no companies, such as those of a file that lost its names."""
    register = REGISTERS[source]
    counts = RowCounts(
        edition.comptage["lus"], edition.kept_rows, rejected=edition.comptage["rejetes"]
    )
    excess = counts.excess(register.max_rejected if most is None else most)
    if excess:
        raise BuildError(
            f"{', '.join(edition.fichiers)}: {excess}; --accept {source} takes it all the same,"
            f" [source.{source}] max_rejected in the configuration raises the bound"
        )


def _refuse_unreadable(source: str, edition: EditionImport) -> None:
    """Refuse an edition whose dates or amounts are written in another way: those that can be read may be wrong."""
    for reason in entity.UNREADABLE.values():
        count = edition.comptage["traites"].get(reason, 0)
        if count > _MOST_UNREADABLE * edition.kept_rows:
            raise BuildError(
                f"{', '.join(edition.fichiers)}: a value of {edition.kept_rows:,} rows cannot be read in too many"
                f" (at most {_MOST_UNREADABLE:.0%}): {console.reason_and_count(reason, count)}; its form has changed,"
                f" or columns are swapped; --accept {source} takes it all the same"
            )


def _refuse_closed_gates(
    source: str, edition: EditionImport, folder: Path, max_rejected: float
) -> None:
    """Refuse an edition that would stop the build of its country, and with it the night of all sources.

    A complement is merged into the rows of a register, and is held to the gates with them.
    """
    if REGISTERS[source].complement:
        return
    tables = seeds.read()
    for file in sorted((folder / edition.cle / "companies").glob("*.parquet")):
        try:
            country.refuse_import(file, tables, max_rejected)
        except BuildError as error:
            raise BuildError(
                f"{', '.join(edition.fichiers)}: {error}; --accept {source} takes it all the same"
            ) from error


def _refuse_older(source: str, edition: EditionImport, before: Sequence[EditionImport]) -> None:
    """Refuse to go back: to an older file of the same name, or to files that are all older.

    What is known to the month alone is compared by the month.
    """
    known = {name: day for other in before for name, day in other.dates.items()}
    pairs = [(name, day, known[name]) for name, day in edition.dates.items() if name in known]
    if edition.dates and known:
        newest = max(edition.dates, key=edition.dates.__getitem__)
        pairs.append((newest, edition.dates[newest], max(known.values())))
    for name, day, last in pairs:
        if day[: len(last)] < last[: len(day)]:
            raise BuildError(
                f"{name}: the edition is of {day}, the one before is of {last};"
                f" --accept {source} takes it all the same"
            )


def _files(folder: Path) -> list[Path]:
    """The published files in the folder of a source; hidden ones are ours."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name[0] != ".")


def _folder(work: Path, source: str) -> Path:
    return work / "input" / source


def _pointer(work: Path, source: str) -> Path:
    return work / "input" / f"{source}.json"


def _read(work: Path, source: str) -> tuple[EditionImport, ...]:
    """The imports that the last run left for a build."""
    path = _pointer(work, source)
    try:
        content = path.read_bytes()
        # A list without a digest is of a version before this one.
        listed = (
            orjson.loads(content)
            if content[:1] == b"["
            else digests.load_record(content)["imports"]
        )
        found = [(one["cle"], tuple(one["fichiers"]), one["comptage"]) for one in listed]
    except FileNotFoundError:
        return ()
    except (KeyError, TypeError, ValueError) as error:
        raise BuildError(f"{path} cannot be understood ({error!r}); delete it") from error
    folder = _folder(work, source)
    # An import without a list of digests is of a version before this one.
    return tuple(
        EditionImport(*one, _dates(folder / one[0]))
        for one in found
        if digests.is_whole(folder / one[0])
        or ((folder / one[0]).is_dir() and not (folder / one[0] / digests.LIST).exists())
    )
