"""The command `fetch`: what is new of some sources, checked, in the place of what was there.

Sources are asked side by side, one request at a time for each host. A file is replaced by one rename, after it has
come whole, was read to its end and is credible; its receipt follows. A file that fails changes nothing of the others.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from pipeline.errors import FetchError
from pipeline.nightly.fetch import client, plausibility, published, receipt
from pipeline.nightly.fetch.client import Client
from pipeline.nightly.fetch.download import EditionDownload
from pipeline.nightly.fetch.published import Edition, PublishedFile, SourceSettings
from pipeline.nightly.fetch.receipt import Receipt
from pipeline.registers import REGISTERS
from shards.generations import atomic_files, locks
from shards.generations import manifest as manifests
from shards.sync.errors import AbsentError, FaultError

Result = Literal["nouveau", "inchange", "refuse", "manuel"]
ENGLISH: Final[Mapping[Result, str]] = {
    "nouveau": "new",
    "inchange": "unchanged",
    "refuse": "refused",
    "manuel": "by hand",
}
SECRET: Final = "FETCH_SECRET_"
SILENCE_SECONDS: Final = 30.0
_UNSAID: Final = SourceSettings()


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """The settings of fetches.

    Attributes:
        contact: an address for registers that want to know who asks; part of the user agent.
        sources: what an operator says of a source instead of seeds/sources.csv.
        accept: sources whose files are taken however large or small they are.
        silence: the seconds without a byte after which a server is given up.
    """

    contact: str = ""
    sources: Mapping[str, SourceSettings] = field(default_factory=dict)
    accept: frozenset[str] = frozenset()
    silence: float = SILENCE_SECONDS


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """The outcome for one file; `reason` says why it was refused, or how to get it."""

    source: str
    name: str
    result: Result
    reason: str = ""
    receipt: Receipt | None = None

    def line(self) -> str:
        """The outcome for a terminal."""
        found = self.receipt
        size = f", {found.octets:,} bytes, {found.lignes:,} rows" if found else ""
        dated = f", of {found.modifie}" if found and found.modifie else ""
        why = f": {self.reason}" if self.reason else ""
        return f"{self.source}: {self.name or 'files'}: {ENGLISH[self.result]}{size}{dated}{why}"


@dataclass(frozen=True, slots=True)
class _Round:
    """What the fetches of one command share."""

    raw: Path
    settings: FetchSettings
    now: datetime
    client: Client
    came: Callable[[int], object]
    report: Callable[[str], object]


def run(
    sources: Sequence[str],
    raw: Path,
    settings: FetchSettings,
    *,
    now: datetime,
    came: Callable[[int], object] = lambda _: None,
    report: Callable[[str], object] = lambda _: None,
) -> list[FetchedFile]:
    """Fetch what is new of the `sources` into `raw`; return the outcome for each file.

    Args:
        came: called with the number of bytes received.
        report: called with a message before a wait.

    Raises:
        FetchError: an unknown source, or an address in the settings that is none.
        ShardError: another command fetches into `raw`.
    """
    table = published.read()
    if unknown := sorted({*sources, *settings.sources} - table.keys()):
        raise FetchError(f"unknown source {unknown[0]!r}; known: {', '.join(sorted(table))}")
    wanted = {
        source: published.with_settings(table[source], settings.sources.get(source, _UNSAID))
        for source in sources
    }
    with locks.write_lock(raw):
        return asyncio.run(_all(wanted, raw, settings, now, came, report))


async def _all(
    wanted: Mapping[str, Sequence[PublishedFile]],
    raw: Path,
    settings: FetchSettings,
    now: datetime,
    came: Callable[[int], object],
    report: Callable[[str], object],
) -> list[FetchedFile]:
    async with client.connect(settings.contact, settings.silence) as session:
        shared = _Round(raw, settings, now, session, came, report)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_source(files, shared)) for files in wanted.values()]
    return [found for task in tasks for found in task.result()]


async def _source(files: Sequence[PublishedFile], shared: _Round) -> list[FetchedFile]:
    found: list[FetchedFile] = []
    for file in files:
        found += await _file(file, shared)
    return found


async def _file(file: PublishedFile, shared: _Round) -> list[FetchedFile]:
    """The editions of one file that are new; the older one goes where one is enough."""
    folder = shared.raw / file.source
    (folder / receipt.FOLDER).mkdir(parents=True, exist_ok=True)
    if not file.address:
        return [FetchedFile(file.source, file.name, "manuel", _by_hand(file, folder))]
    found: list[FetchedFile] = []
    last = receipt.all_of(folder, file.name)
    if file.days is None and last and receipt.valid(folder, last[0].fichier):
        return [FetchedFile(file.source, last[0].fichier, "inchange", receipt=last[0])]
    absent: AbsentError | None = None
    for edition in published.editions(file, shared.now.date()):
        here = receipt.valid(folder, edition.name)
        if here and file.editions > 1:  # the edition of a day does not change
            continue
        try:
            found.append(await _edition(file, edition, here, shared))
        except AbsentError as error:
            absent = absent or error
            continue
        except (FetchError, FaultError) as error:
            return [*found, FetchedFile(file.source, edition.name, "refuse", str(error))]
        if file.editions == 1:
            break
    if found and file.editions == 1:
        for old in receipt.all_of(folder, file.name):
            if old.fichier != found[0].name:
                receipt.remove(folder, old)
    if found:
        return found
    if file.editions > 1 and last:
        return [FetchedFile(file.source, last[0].fichier, "inchange", receipt=last[0])]
    return [
        FetchedFile(file.source, file.name, "refuse", f"{absent}; the register may have moved it")
    ]


async def _edition(
    file: PublishedFile, edition: Edition, here: Receipt | None, shared: _Round
) -> FetchedFile:
    """Bring one edition, check it, and put it in its place."""
    folder = shared.raw / file.source
    path = folder / receipt.FOLDER / edition.name
    download = EditionDownload(
        client=shared.client,
        file=file,
        address=edition.address,
        path=path,
        key=_key(file, shared.settings),
        bounded=file.source not in shared.settings.accept,
        came=shared.came,
        report=shared.report,
    )
    moment = shared.now.astimezone(UTC).isoformat(timespec="seconds")
    begun = await download.run(here)
    if begun is None:
        return _unchanged(folder, here, moment)
    digest = await asyncio.to_thread(manifests.digest, path)
    if here and digest.blake3 == here.blake3:
        path.unlink()
        receipt.end_begun(path)
        return _unchanged(
            folder,
            replace(here, etag=begun.validators.etag, modifie=begun.validators.modifie),
            moment,
        )
    try:
        rows = await asyncio.to_thread(_checked_rows, file, edition, path, digest.size, shared)
    except FetchError:
        path.replace(path.with_name(f"{path.name}.refused"))
        receipt.end_begun(path)
        raise
    made = Receipt(
        source=file.source,
        fichier=edition.name,
        modele=file.name,
        adresse=edition.address,
        etag=begun.validators.etag,
        modifie=begun.validators.modifie,
        octets=digest.size,
        lignes=rows,
        blake3=digest.blake3,
        sha256=digest.sha256,
        recu=moment,
        verifie=moment,
    )
    atomic_files.appear(path, folder / edition.name)
    receipt.write(folder, made)
    receipt.end_begun(path)
    return FetchedFile(file.source, edition.name, "nouveau", receipt=made)


def _checked_rows(
    file: PublishedFile, edition: Edition, path: Path, size: int, shared: _Round
) -> int:
    """The rows of a file that has come whole, if it is credible."""
    rows = plausibility.count_rows(path, edition.name, REGISTERS.get(file.source))
    if file.source not in shared.settings.accept:
        before = receipt.all_of(shared.raw / file.source, file.name)
        plausibility.compare(file, size, rows, before[0] if before else None)
    return rows


def _unchanged(folder: Path, here: Receipt | None, moment: str) -> FetchedFile:
    if here is None:
        raise FaultError("the server answers 304 to a request without a condition")
    checked = replace(here, verifie=moment)
    receipt.write(folder, checked)
    return FetchedFile(here.source, here.fichier, "inchange", receipt=checked)


def _by_hand(file: PublishedFile, folder: Path) -> str:
    account = f" (it takes: {file.account})" if file.account else ""
    return (
        f"it has no fixed address{account}; put the files into {folder}, or give an address in"
        f" the configuration: [source.{file.source}] addresses"
    )


def _key(file: PublishedFile, settings: FetchSettings) -> dict[str, str]:
    """The header that opens the account.

    Raises:
        FetchError: the source needs one, and there is no key.
    """
    secret = settings.sources.get(file.source, _UNSAID).secret
    if file.header and not secret:
        raise FetchError(
            f"it takes: {file.account}; set {secret_name(file.source)} to the value of the header"
            f" {file.header}"
        )
    return {file.header or "Authorization": secret} if secret else {}


def secret_name(source: str) -> str:
    """The environment variable with the key of a source.

    >>> secret_name("be-nbb")
    'FETCH_SECRET_BE_NBB'
    """
    return SECRET + source.upper().replace("-", "_")
