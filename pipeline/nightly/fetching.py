"""The command `fetch`: the new editions of some sources, checked, in the place of the old ones.

Sources are asked side by side, one request at a time for each host. One that is too slow, or not there after its
deadline, is given up: what has come of it stays for the next time, and the others go on. A file is replaced by one
rename, after it has come whole, was read to its end and is credible; its receipt follows. A file that fails changes
nothing of the others.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from pipeline import console
from pipeline.errors import FetchError
from pipeline.nightly import published_files, receipt
from pipeline.nightly.download import SLOWEST, EditionDownload, RecordedPart
from pipeline.nightly.published_files import (
    Edition,
    ImplausibleError,
    PublishedFile,
    SourceSettings,
)
from pipeline.nightly.receipt import Receipt
from pipeline.workers.isolation import Limits
from seeds import VERSION
from shards.generations import atomic_files, locks
from shards.generations import manifest as manifests
from shards.mirror import client
from shards.mirror.client import SILENCE_SECONDS, Client, Remedies
from shards.mirror.download import SlowSourceError
from shards.mirror.source import AbsentError, SyncError

Result = Literal["nouveau", "inchange", "refuse", "manuel"]
SECRET: Final = "FETCH_SECRET_"
_UNSAID: Final = SourceSettings()
_MINUTE: Final = 60.0  # seconds
_ANOTHER: Final = "give another address in the configuration"
_REMEDIES: Final = Remedies(
    redirect="if it is the register's, add the host to seeds/sources.csv, or give the address in the configuration",
    account=_ANOTHER,
    address=_ANOTHER,
)
_GIVEN_UP: Final = "it is given up for this night, and the next one goes on where it was"


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """The settings of fetches.

    Attributes:
        contact: an address for registers that want to know who asks; part of the user agent.
        sources: what an operator says of a source instead of seeds/sources.csv.
        accept: sources whose files are taken however large or small they are.
        silence: the seconds without a byte after which a server is given up.
        slowest: the bytes a second under which a source is given up for this time; 0 for none.
        deadline: the minutes after which all fetching ends; None for none.
        limits: of the process that reads a fetched file to its end, and of that which imports it.
    """

    contact: str = ""
    sources: Mapping[str, SourceSettings] = field(default_factory=dict)
    accept: frozenset[str] = frozenset()
    silence: float = SILENCE_SECONDS
    slowest: int = SLOWEST
    deadline: int | None = None
    limits: Limits = field(default_factory=Limits)

    def of_source(self, source: str) -> SourceSettings:
        """What an operator says of one source."""
        return self.sources.get(source, _UNSAID)


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """The outcome for one file; `reason` says why it was refused, or how to get it.

    The `seconds` of a file with several editions are those of the first outcome.
    """

    source: str
    name: str
    result: Result
    reason: str = ""
    receipt: Receipt | None = None
    seconds: float = 0.0

    def line(self) -> str:
        """The outcome for a terminal."""
        found = self.receipt
        size = f", {found.octets:,} bytes, {found.lignes:,} rows" if found else ""
        dated = f", of {found.modifie}" if found and found.modifie else ""
        why = f": {self.reason}" if self.reason else ""
        return f"{self.source}: {self.name or 'files'}: {console.ENGLISH[self.result]}{size}{dated}{why}"


@dataclass(frozen=True, slots=True)
class _Round:
    """What the fetches of one command share."""

    raw: Path
    settings: FetchSettings
    now: datetime
    client: Client
    came: Callable[[int], object]
    report: Callable[[str], object]
    began: float
    given_up: set[str] = field(default_factory=set)

    def deadline(self, source: str) -> int | None:
        """The minutes after which the fetch of a source ends."""
        said = (self.settings.of_source(source).deadline, self.settings.deadline)
        return min((minutes for minutes in said if minutes), default=None)

    @property
    def moment(self) -> str:
        """The time of the command, as receipts have it."""
        return self.now.astimezone(UTC).isoformat(timespec="seconds")


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
    table = published_files.read()
    if unknown := sorted({*sources, *settings.sources} - table.keys()):
        raise FetchError(f"unknown source {unknown[0]!r}; known: {', '.join(sorted(table))}")
    wanted = {
        source: published_files.with_settings(table[source], settings.of_source(source))
        for source in sources
    }
    with locks.write_lock(raw):
        return asyncio.run(_fetch_all(wanted, raw, settings, now, came, report))


async def _fetch_all(
    wanted: Mapping[str, Sequence[PublishedFile]],
    raw: Path,
    settings: FetchSettings,
    now: datetime,
    came: Callable[[int], object],
    report: Callable[[str], object],
) -> list[FetchedFile]:
    contact = f"+{settings.contact}" if settings.contact else "batch import of open registers"
    agent = f"societes/{VERSION} ({contact})"
    async with client.connect(agent, settings.silence, _REMEDIES) as session:
        began = asyncio.get_running_loop().time()
        shared = _Round(raw, settings, now, session, came, report, began)
        found = await asyncio.gather(*(_source(files, shared) for files in wanted.values()))
    return [file for files in found for file in files]


async def _source(files: Sequence[PublishedFile], shared: _Round) -> list[FetchedFile]:
    found: list[FetchedFile] = []
    source = files[0].source
    if not shared.settings.of_source(source).fetch:
        reason = f"`fetch = false` in the configuration; put the files into {shared.raw / source}"
        return [FetchedFile(source, "", "manuel", reason)]
    for file in files:
        since = time.monotonic()
        first, *rest = await _file(file, shared)
        found += [replace(first, seconds=time.monotonic() - since), *rest]
    return found


async def _file(file: PublishedFile, shared: _Round) -> list[FetchedFile]:
    """The outcomes for one file: of its edition, or of each that is new where editions add up."""
    folder = shared.raw / file.source
    (folder / receipt.FOLDER).mkdir(parents=True, exist_ok=True)
    if not file.address:
        return [FetchedFile(file.source, file.name, "manuel", _by_hand(file, folder))]
    last = receipt.all_of(folder, file.name)
    if file.days is None and last and receipt.find_valid(folder, last[0].fichier):
        return [FetchedFile(file.source, last[0].fichier, "inchange", receipt=last[0])]
    found: list[FetchedFile] = []
    if reason := await _bring(file, shared, found):
        return [*found, FetchedFile(file.source, file.name, "refuse", reason)]
    if file.editions == 1 and found[0].result != "refuse":
        for old in last:
            if old.fichier != found[0].name:
                receipt.remove(folder, old)
    # Where editions add up, those of before stay, and there may be nothing new.
    return found or [FetchedFile(file.source, last[0].fichier, "inchange", receipt=last[0])]


async def _bring(file: PublishedFile, shared: _Round, fetched: list[FetchedFile]) -> str:
    """Bring what is new of a file into `fetched`; return why it ended before, if it did."""
    if file.source in shared.given_up:
        return "it was not asked for: its source is given up for this night"
    minutes = shared.deadline(file.source)
    ends = shared.began + minutes * _MINUTE if minutes else None
    try:
        async with asyncio.timeout_at(ends):
            await _editions(file, _key(file, shared.settings), shared, fetched)
    except SlowSourceError as error:
        shared.given_up.add(file.source)
        return f"{error} (`slowest` in the configuration); {_GIVEN_UP}"
    except (FetchError, SyncError) as error:
        return str(error)
    except TimeoutError:
        shared.given_up.add(file.source)
        return f"it had not come after {minutes} min (`deadline` in the configuration); {_GIVEN_UP}"
    return ""


async def _editions(
    file: PublishedFile, key: Mapping[str, str], shared: _Round, fetched: list[FetchedFile]
) -> None:
    """Bring the newest edition into `fetched`; where editions add up, all that are not here.

    Raises:
        FetchError: the server has none, sends a page, or a size that is not credible.
        SyncError: the server refuses, or failed too often.
    """
    here, absent = False, ""
    for edition in published_files.editions(file, shared.now.date()):
        known = await asyncio.to_thread(receipt.find_valid, shared.raw / file.source, edition.name)
        if known and file.editions > 1:  # the edition of a day does not change
            here = True
            continue
        try:
            fetched.append(await _edition(file, edition, key, known, shared))
        except AbsentError as error:
            absent = absent or str(error)
            continue
        except ImplausibleError as error:
            fetched.append(FetchedFile(file.source, edition.name, "refuse", str(error)))
        if file.editions == 1:
            break
    if not fetched and not here:
        raise FetchError(
            f"{absent}; the register may have moved it: give its new address in the configuration"
        )


async def _edition(
    file: PublishedFile,
    edition: Edition,
    key: Mapping[str, str],
    known: Receipt | None,
    shared: _Round,
) -> FetchedFile:
    """Bring one edition, check it, and put it in its place with its receipt beside it."""
    folder = shared.raw / file.source
    part = RecordedPart(folder / receipt.FOLDER / edition.name, edition.address)
    slowest = shared.settings.of_source(file.source).slowest
    download = EditionDownload(
        client=shared.client,
        file=file,
        part=part,
        key=key,
        bounded=file.source not in shared.settings.accept,
        slowest=shared.settings.slowest if slowest is None else slowest,
        came=shared.came,
        report=shared.report,
    )
    if not await download.run(known):
        return _keep_edition(known, shared)
    validators = part.validators
    digest = await asyncio.to_thread(manifests.digest, part.path)
    if known and digest.blake3 == known.blake3:
        part.discard()
        confirmed = replace(known, etag=validators.etag, modifie=validators.modifie)
        return _keep_edition(confirmed, shared)
    try:
        rows = await asyncio.to_thread(_checked_rows, file, edition, part.path, digest.size, shared)
    except ImplausibleError:
        part.path.replace(part.path.with_name(f"{edition.name}.refused"))
        part.remove_record()
        raise
    taken = Receipt(
        source=file.source,
        fichier=edition.name,
        modele=file.name,
        adresse=edition.address,
        etag=validators.etag,
        modifie=validators.modifie,
        octets=digest.size,
        lignes=rows,
        blake3=digest.blake3,
        sha256=digest.sha256,
        recu=shared.moment,
        verifie=shared.moment,
    )
    atomic_files.appear(part.path, folder / edition.name)
    receipt.write(folder, taken)
    part.remove_record()
    return FetchedFile(file.source, edition.name, "nouveau", receipt=taken)


def _checked_rows(
    file: PublishedFile, edition: Edition, path: Path, size: int, shared: _Round
) -> int:
    """The rows of a file that has come whole, if it is credible."""
    rows = published_files.count_rows_isolated(
        shared.settings.limits, path, edition.name, file.source
    )
    if file.source not in shared.settings.accept:
        before = receipt.all_of(shared.raw / file.source, file.name)
        published_files.compare(file, size, rows, before[0] if before else None)
    return rows


def _keep_edition(known: Receipt | None, shared: _Round) -> FetchedFile:
    if known is None:
        raise FetchError("the server answers 304 to a request without a condition; try again later")
    checked = replace(known, verifie=shared.moment)
    receipt.write(shared.raw / known.source, checked)
    return FetchedFile(known.source, known.fichier, "inchange", receipt=checked)


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
    if reason := lacks_key(file, settings):
        raise FetchError(reason)
    secret = settings.of_source(file.source).secret
    return {file.header or "Authorization": secret} if secret else {}


def lacks_key(file: PublishedFile, settings: FetchSettings) -> str:
    """What to do where the source takes an account and has no key; empty where it is in order."""
    if not file.header or settings.of_source(file.source).secret:
        return ""
    variable = secret_name(file.source)
    return f"it takes: {file.account}; set {variable} to the value of the header {file.header}"


def secret_name(source: str) -> str:
    """The environment variable with the key of a source.

    >>> secret_name("be-nbb")
    'FETCH_SECRET_BE_NBB'
    """
    return SECRET + source.upper().replace("-", "_")
