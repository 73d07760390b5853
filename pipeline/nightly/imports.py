"""The imports of a nightly run: each edition in a separate folder, named by a digest of all its inputs.

    WORK/input/<source>/<key>/      the output of one import, complete or absent
    WORK/input/<source>.json        the imports that the next build reads

The key is the digest of the published bytes, the code and the tables. So an edition is imported once, a run after a
killed run reuses the finished imports, and no folder mixes two editions. Before an import is used again, all its bytes
are compared with their digests (`digests`); a damaged import is repeated. A source whose import fails keeps its earlier
imports. Sources whose editions add up have an import for each file.
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

_KEY_DIGITS: Final = 16  # hexadecimal digits of a key
# If a larger share of the rows has unreadable values in one field, the edition is refused.
_MOST_UNREADABLE: Final = 0.25


@dataclass(frozen=True, slots=True)
class EditionImport:
    """One import; the attributes are the keys of its JSON, except `dates`.

    Attributes:
        cle: the name of its folder.
        comptage: the counts of the rows, as in the report of an import.
        fichiers: the names of the imported files.
        dates: the dates of the files by name, without files of an unknown date; they are stored in the `sources.json`
            of the import, not in the JSON of this object.
    """

    cle: str
    fichiers: tuple[str, ...]
    comptage: dict[str, Any]
    dates: Mapping[str, str]

    @property
    def row_count(self) -> int:
        """The number of rows that the import kept."""
        return int(self.comptage["gardes"])

    @property
    def date(self) -> str | None:
        """The date of the edition: the oldest date of its files; None if no file has a date."""
        return min(self.dates.values(), default=None)

    def list_entry(self) -> dict[str, Any]:
        """The entry of this import in the list of imports, as JSON values."""
        return {"cle": self.cle, "fichiers": self.fichiers, "comptage": self.comptage}


@dataclass(frozen=True, slots=True)
class SourceImports:
    """The imports of a source that a build reads.

    Attributes:
        imports: the imports that the build reads: of this run, or earlier imports.
        fresh: the keys of the imports that this run made.
        failures: the reasons why files of the source are not imported.
    """

    source: str
    imports: tuple[EditionImport, ...]
    fresh: tuple[str, ...] = ()
    failures: tuple[str, ...] = field(default=())

    def folders(self, work: Path) -> list[Path]:
        """The folders of the imports, which are inputs of a build."""
        return [_imports_folder(work, self.source) / edition.cle for edition in self.imports]


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
    """Import the new files of a source in `raw`, and write the list of the imports that the next build reads.

    If an import fails, and each edition of the source replaces the one before, the earlier imports stay in the list.

    Args:
        accept: accept an import that has far fewer rows than the import before, is of an older edition, has
            rejected more rows than is credible, or would close a gate of the build.
        max_rejected: the largest credible share of rejected rows; None for the share that the register declares.
        most_in_build: the largest share of a country's rows that the build accepts as rejected (its --max-rejected).
        memory: the bytes that an import can use; None for the default.
        limits: the limits of the process of each import.

    Raises:
        BuildError: the list of the earlier imports cannot be read.
        OSError: the disk failed.
    """
    before = _listed_imports(work, source)
    files = _published_files(raw / source)
    if not files:
        reason = f"no file in {raw / source}; fetch one, or put it there"
        return SourceImports(source, before, failures=(reason,))
    folder = _imports_folder(work, source)
    folder.mkdir(parents=True, exist_ok=True)
    # Folders of imports that were killed are left, and are deleted here.
    for unfinished in folder.glob(f"{atomic_files.STAGED}*"):
        shutil.rmtree(unfinished)
    adds_up = _editions_add_up(source)
    imported: list[EditionImport] = []
    fresh: list[str] = []
    failures: list[str] = []
    complete_keys = {edition.cle for edition in before}
    copy_reasons = dict(file_set.copies(files, is_whole=False)) if adds_up else {}
    for group in _import_groups(source, files):
        if copy_reason := copy_reasons.get(group[0]):
            failures.append(copy_reason)
            continue
        try:
            edition, is_new = _import(source, group, folder, complete_keys, memory, limits)
            # The costly checks are only for new imports: those of earlier runs have passed them.
            if edition.cle not in complete_keys:
                identifiers.refuse_duplicates_in_import(
                    sorted((folder / edition.cle / "companies").glob("*.parquet"))
                )
            if not accept:
                _refuse_rejections(source, edition, max_rejected)
                _refuse_unreadable(source, edition)
                if edition.cle not in complete_keys:
                    _refuse_closed_gates(source, edition, folder, most_in_build)
            if not adds_up and not accept:
                _refuse_losses(source, edition, before)
                _refuse_older(source, edition, before)
        except (BuildError, InputError) as error:
            failures.append(str(error))
        else:
            imported.append(edition)
            fresh += [edition.cle] if is_new else []
    # The earlier imports stay in the list, and are built again.
    if failures and not adds_up:
        return SourceImports(source, before, failures=tuple(failures))
    atomic_files.write(
        _list_path(work, source),
        digests.dump_record({"imports": [edition.list_entry() for edition in imported]}),
    )
    return SourceImports(source, tuple(imported), tuple(fresh), tuple(failures))


def pending_files(source: str, raw: Path, work: Path) -> tuple[list[str], list[str]]:
    """The files in `raw` that `run` would import, and the files that are already imported. This writes nothing."""
    new_files: list[str] = []
    imported_files: list[str] = []
    for group in _import_groups(source, _published_files(raw / source)):
        is_done = (_imports_folder(work, source) / _import_key(source, group)).is_dir()
        (imported_files if is_done else new_files).extend(file.name for file in group)
    return new_files, imported_files


def prune(sources: Sequence[SourceImports], work: Path) -> int:
    """Delete the imports in `work` that are not in `sources`, so no build reads them; return their number."""
    removed = 0
    for source in sources:
        used_keys = {edition.cle for edition in source.imports}
        for folder in _imports_folder(work, source.source).glob("*"):
            if folder.name not in used_keys:
                shutil.rmtree(folder)
                removed += 1
    return removed


def _editions_add_up(source: str) -> bool:
    """Whether the editions of a source add up: each has other rows, and all are served together."""
    return any(file.editions > 1 for file in published_files.read()[source])


def _import_groups(source: str, files: list[Path]) -> list[list[Path]]:
    """The files of each import: one import per file if editions add up, otherwise one import of all files."""
    if _editions_add_up(source):
        return [[file] for file in files]
    return [files] if files else []


def _import(
    source: str,
    files: Sequence[Path],
    folder: Path,
    complete_keys: Collection[str],
    memory: int | None,
    limits: Limits,
) -> tuple[EditionImport, bool]:
    """Import these files, unless their import is here and complete; return the import, and whether it is new.

    Args:
        folder: the folder of the imports of the source.
        complete_keys: the keys of imports that are known to be complete.
    """
    key = _import_key(source, files)
    if is_new := key not in complete_keys and not digests.is_intact(folder / key):
        shutil.rmtree(folder / key, ignore_errors=True)
        staged = Path(tempfile.mkdtemp(prefix=atomic_files.STAGED, dir=folder))
        try:
            importing.run_isolated(limits, source, files, staged, memory=memory)
            digests.seal_folder(staged)
            atomic_files.rename_synced_folder(staged, folder / key)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    (report,) = (folder / key / "imports").glob("*.json")
    names = tuple(file.name for file in files)
    counts = orjson.loads(report.read_bytes())["comptage"]
    return EditionImport(key, names, counts, _file_dates(folder / key)), is_new


def _file_dates(folder: Path) -> dict[str, str]:
    """By file name: the date of each file of an import in `folder`; files without a date are left out."""
    imports = [
        register_import
        for table_imports in canonical.read_sources(folder).values()
        for register_import in table_imports
    ]
    return {
        file.nom: file.date
        for register_import in imports
        for file in register_import.fichiers
        if file.date
    }


def _import_key(source: str, files: Sequence[Path]) -> str:
    """The key of an import: the digest of the source, the code, the tables, and the names and bytes of the files."""
    inputs = [
        source,
        digests.code_version(),
        digests.folder_digest(FOLDER, "*.toml"),
        digests.folder_digest(TABLES, "*.csv"),
        *(text for file in files for text in (file.name, manifests.digest(file).blake3)),
    ]
    # `digest` takes pairs of a name and a content. The names are empty, because the order tells the contents apart.
    return digests.digest([(b"", text.encode()) for text in inputs])[:_KEY_DIGITS]


def _refuse_losses(source: str, edition: EditionImport, before: Sequence[EditionImport]) -> None:
    """Refuse an edition with fewer rows than LEAST_SHARE of those of the imports `before`.

    A publication stops at the same share, which would keep the editions of all other sources from being published.
    """
    rows_before = sum(earlier.row_count for earlier in before)
    if edition.row_count < LEAST_SHARE * rows_before:
        raise BuildError(
            f"{', '.join(edition.fichiers)}: {edition.row_count:,} rows are kept,"
            f" the edition before had {rows_before:,}; --accept {source} accepts it anyway"
        )


def _refuse_rejections(source: str, edition: EditionImport, most: float | None) -> None:
    """Refuse an edition with a larger share of rejected rows than `most`, or than its register declares (None)."""
    register = REGISTERS[source]
    counts = RowCounts(
        edition.comptage["lus"], edition.row_count, rejected=edition.comptage["rejetes"]
    )
    excess = counts.too_many_rejected(register.max_rejected if most is None else most)
    if excess:
        raise BuildError(
            f"{', '.join(edition.fichiers)}: {excess}; --accept {source} accepts it anyway,"
            f" [source.{source}] max_rejected in the configuration raises the bound"
        )


def _refuse_unreadable(source: str, edition: EditionImport) -> None:
    """Refuse an edition with many unreadable dates or amounts: the readable values are probably wrong, too."""
    for reason in entity.UNREADABLE.values():
        count = edition.comptage["traites"].get(reason, 0)
        if count > _MOST_UNREADABLE * edition.row_count:
            raise BuildError(
                f"{', '.join(edition.fichiers)}: a value of {edition.row_count:,} rows cannot be read in too many"
                f" (at most {_MOST_UNREADABLE:.0%}): {console.reason_and_count(reason, count)}; its form has changed,"
                f" or columns are swapped; --accept {source} accepts it anyway"
            )


def _refuse_closed_gates(
    source: str, edition: EditionImport, folder: Path, max_rejected: float
) -> None:
    """Refuse an edition that would stop the build of its country, and with it the night of all sources.

    Complements are not checked: they are merged into the rows of a register, and the gates check the merged rows.
    """
    if REGISTERS[source].complement:
        return
    tables = seeds.read()
    for file in sorted((folder / edition.cle / "companies").glob("*.parquet")):
        try:
            country.refuse_import(file, tables, max_rejected)
        except BuildError as error:
            raise BuildError(
                f"{', '.join(edition.fichiers)}: {error}; --accept {source} accepts it anyway"
            ) from error


def _refuse_older(source: str, edition: EditionImport, before: Sequence[EditionImport]) -> None:
    """Refuse an edition with a file older than the file of the same name in `before`, or with only older files.

    If one of two dates is only a month or a year, the dates are compared to that precision.
    """
    dates_before = {name: day for earlier in before for name, day in earlier.dates.items()}
    comparisons = [
        (name, day, dates_before[name])
        for name, day in edition.dates.items()
        if name in dates_before
    ]
    if edition.dates and dates_before:
        newest = max(edition.dates, key=edition.dates.__getitem__)
        comparisons.append((newest, edition.dates[newest], max(dates_before.values())))
    for name, day, day_before in comparisons:
        if day[: len(day_before)] < day_before[: len(day)]:
            raise BuildError(
                f"{name}: the edition is of {day}, the one before is of {day_before};"
                f" --accept {source} accepts it anyway"
            )


def _published_files(folder: Path) -> list[Path]:
    """The published files in the folder of a source; hidden files belong to the program."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name[0] != ".")


def _imports_folder(work: Path, source: str) -> Path:
    """The folder of the imports of a source."""
    return work / "input" / source


def _list_path(work: Path, source: str) -> Path:
    """The file with the list of the imports that the next build reads."""
    return work / "input" / f"{source}.json"


def _listed_imports(work: Path, source: str) -> tuple[EditionImport, ...]:
    """The imports of a source that the last run listed for a build, without those that are damaged or missing.

    Raises:
        BuildError: the list cannot be read.
    """
    path = _list_path(work, source)
    try:
        content = path.read_bytes()
        # A list without a digest is of an older version, and is accepted.
        imports = (
            orjson.loads(content)
            if content[:1] == b"["
            else digests.load_record(content)["imports"]
        )
        entries = [(entry["cle"], tuple(entry["fichiers"]), entry["comptage"]) for entry in imports]
    except FileNotFoundError:
        return ()
    except (KeyError, TypeError, ValueError) as error:
        raise BuildError(f"{path} cannot be read ({error!r}); delete it") from error
    folder = _imports_folder(work, source)
    # An import without a list of digests is of an older version, and is accepted. An entry begins with its key.
    return tuple(
        EditionImport(*entry, _file_dates(folder / entry[0]))
        for entry in entries
        if digests.is_intact(folder / entry[0])
        or (
            (folder / entry[0]).is_dir() and not (folder / entry[0] / digests.DIGESTS_FILE).exists()
        )
    )
