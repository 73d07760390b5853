"""The command `fetch`: fetch new editions of sources, check them, and replace the old editions.

Sources are fetched in parallel, one request at a time for each host. A source that is too slow, or incomplete at its
deadline, is given up: the received bytes stay for the next time, and the other sources continue. A new file replaces
the old file by one rename, after the new file is complete, has been read to its end and is credible; then its receipt
is written. A file that fails does not affect other files.
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

# New, unchanged, refused (the old file stays), or to be fetched by hand.
FetchResult = Literal["nouveau", "inchange", "refuse", "manuel"]
# The beginning of the names of environment variables with keys; the name of the source follows.
SECRET_PREFIX: Final = "FETCH_SECRET_"
_NO_SETTINGS: Final = SourceSettings()
_MINUTE_SECONDS: Final = 60.0
# Remedies for errors of a server, for the messages.
_OTHER_ADDRESS: Final = "give another address in the configuration"
_REMEDIES: Final = Remedies(
    redirect="if the host is the register's, add it to seeds/sources.csv, or give the address in the configuration",
    account=_OTHER_ADDRESS,
    address=_OTHER_ADDRESS,
)
_GIVEN_UP: Final = "it is given up for this night, and the next night continues where it stopped"


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """The settings of fetches.

    Attributes:
        contact: an address at which registers can reach the operator; it is sent in the user agent.
        sources: the operator's settings of each source, which override seeds/sources.csv.
        accept: the sources whose files are accepted at any size.
        silence: the seconds without a byte after which a request fails.
        slowest: bytes per second; a slower source is given up for this time. 0 for no limit.
        deadline: the minutes after which all fetching ends; None for no limit.
        limits: of the process that reads a fetched file to its end, and of the process that imports it.
    """

    contact: str = ""
    sources: Mapping[str, SourceSettings] = field(default_factory=dict)
    accept: frozenset[str] = frozenset()
    silence: float = SILENCE_SECONDS
    slowest: int = SLOWEST
    deadline: int | None = None
    limits: Limits = field(default_factory=Limits)

    def source_settings(self, source: str) -> SourceSettings:
        """The operator's settings of one source."""
        return self.sources.get(source, _NO_SETTINGS)


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """The outcome for one file; `reason` says why the file was refused, or how to get it by hand.

    If a file has several editions, each has an outcome, and the first outcome has the `seconds` of all.
    """

    source: str
    name: str
    result: FetchResult
    reason: str = ""
    receipt: Receipt | None = None
    seconds: float = 0.0

    def line(self) -> str:
        """The outcome as a line for a terminal."""
        receipt = self.receipt
        size = f", {receipt.octets:,} bytes, {receipt.lignes:,} rows" if receipt else ""
        dated = f", of {receipt.modifie}" if receipt and receipt.modifie else ""
        reason_text = f": {self.reason}" if self.reason else ""
        return f"{self.source}: {self.name or 'files'}: {console.ENGLISH[self.result]}{size}{dated}{reason_text}"


@dataclass(frozen=True, slots=True)
class _FetchRun:
    """The values that all fetches of one command share.

    Attributes:
        raw: the folder of the fetched files.
        began: the time of the event loop at which the command began.
        given_up: the sources that are requested no more.
    """

    raw: Path
    settings: FetchSettings
    now: datetime
    client: Client
    on_bytes: Callable[[int], object]
    report: Callable[[str], object]
    began: float
    given_up: set[str] = field(default_factory=set)

    def deadline(self, source: str) -> int | None:
        """The minutes after which the fetch of a source ends: the shorter of its two deadlines; None for no limit."""
        deadlines = (self.settings.source_settings(source).deadline, self.settings.deadline)
        return min((minutes for minutes in deadlines if minutes), default=None)

    @property
    def timestamp(self) -> str:
        """The time of the command, in the form of receipts."""
        return self.now.astimezone(UTC).isoformat(timespec="seconds")


def run(
    sources: Sequence[str],
    raw: Path,
    settings: FetchSettings,
    *,
    now: datetime,
    on_bytes: Callable[[int], object] = lambda _: None,
    report: Callable[[str], object] = lambda _: None,
) -> list[FetchedFile]:
    """Fetch the new editions of `sources` into `raw`; return the outcome for each file.

    Args:
        on_bytes: called with the number of bytes received.
        report: called with a message before a wait.

    Raises:
        FetchError: an unknown source, or an invalid address in the settings.
        ShardError: another command fetches into `raw`.
    """
    table = published_files.read()
    if unknown := sorted({*sources, *settings.sources} - table.keys()):
        raise FetchError(f"unknown source {unknown[0]!r}; known: {', '.join(sorted(table))}")
    files_by_source = {
        source: published_files.apply_settings(table[source], settings.source_settings(source))
        for source in sources
    }
    with locks.write_lock(raw):
        return asyncio.run(_fetch_all(files_by_source, raw, settings, now, on_bytes, report))


async def _fetch_all(
    files_by_source: Mapping[str, Sequence[PublishedFile]],
    raw: Path,
    settings: FetchSettings,
    now: datetime,
    on_bytes: Callable[[int], object],
    report: Callable[[str], object],
) -> list[FetchedFile]:
    """Fetch all sources at the same time; return the outcome of each file, in the order of the sources.

    Args:
        on_bytes: is called with the number of bytes of each piece that arrives.
        report: is called with messages for the terminal.
    """
    contact = f"+{settings.contact}" if settings.contact else "batch import of open registers"
    agent = f"societes/{VERSION} ({contact})"
    async with client.connect(agent, settings.silence, _REMEDIES) as session:
        began = asyncio.get_running_loop().time()
        shared = _FetchRun(raw, settings, now, session, on_bytes, report, began)
        outcomes = await asyncio.gather(
            *(_fetch_source(files, shared) for files in files_by_source.values())
        )
    return [file for files in outcomes for file in files]


async def _fetch_source(files: Sequence[PublishedFile], shared: _FetchRun) -> list[FetchedFile]:
    """Fetch the files of one source, one after another; if it is configured not to be fetched, only say so."""
    outcomes: list[FetchedFile] = []
    source = files[0].source
    if not shared.settings.source_settings(source).fetch:
        reason = f"`fetch = false` in the configuration; put the files into {shared.raw / source}"
        return [FetchedFile(source, "", "manuel", reason)]
    for file in files:
        started = time.monotonic()
        first, *other_editions = await _fetch_file(file, shared)
        outcomes += [replace(first, seconds=time.monotonic() - started), *other_editions]
    return outcomes


async def _fetch_file(file: PublishedFile, shared: _FetchRun) -> list[FetchedFile]:
    """Fetch one file: its newest edition, or each missing edition if editions add up; return the outcomes.

    If editions do not add up, a new edition replaces the older editions, which are deleted.
    """
    folder = shared.raw / file.source
    (folder / receipt.FOLDER).mkdir(parents=True, exist_ok=True)
    if not file.address:
        return [FetchedFile(file.source, file.name, "manuel", _manual_download(file, folder))]
    receipts = receipt.read_all(folder, file.name)
    # A file that is published only once is not requested again.
    if file.days is None and receipts and receipt.find_valid(folder, receipts[0].fichier):
        return [FetchedFile(file.source, receipts[0].fichier, "inchange", receipt=receipts[0])]
    fetched: list[FetchedFile] = []
    if reason := await _try_editions(file, shared, fetched):
        return [*fetched, FetchedFile(file.source, file.name, "refuse", reason)]
    if file.editions == 1 and fetched[0].result != "refuse":  # the older editions are replaced
        for old in receipts:
            if old.fichier != fetched[0].name:
                receipt.remove(folder, old)
    # If editions add up, the earlier editions stay, and `fetched` is empty without a new edition.
    return fetched or [
        FetchedFile(file.source, receipts[0].fichier, "inchange", receipt=receipts[0])
    ]


async def _try_editions(file: PublishedFile, shared: _FetchRun, fetched: list[FetchedFile]) -> str:
    """Fetch the new editions of a file within the deadline; add them to `fetched`; return why they failed, or ""."""
    if file.source in shared.given_up:
        return "it was not requested: its source is given up for this night"
    minutes = shared.deadline(file.source)
    ends_at = shared.began + minutes * _MINUTE_SECONDS if minutes else None
    try:
        async with asyncio.timeout_at(ends_at):
            await _fetch_editions(file, _key_header(file, shared.settings), shared, fetched)
    except SlowSourceError as error:
        shared.given_up.add(file.source)
        return f"{error} (`slowest` in the configuration); {_GIVEN_UP}"
    except (FetchError, SyncError) as error:
        return str(error)
    except TimeoutError:
        shared.given_up.add(file.source)
        return f"it was not complete after {minutes} min (`deadline` in the configuration); {_GIVEN_UP}"
    return ""


async def _fetch_editions(
    file: PublishedFile, key: Mapping[str, str], shared: _FetchRun, fetched: list[FetchedFile]
) -> None:
    """Fetch the newest edition; if editions add up, all missing editions. Add the outcomes to `fetched`.

    Raises:
        FetchError: the server has no edition, or sends a page or a size that is not credible.
        SyncError: the server refuses, or failed too often.
    """
    has_stored_edition, absence = False, ""
    for edition in published_files.editions(file, shared.now.date()):
        stored = await asyncio.to_thread(receipt.find_valid, shared.raw / file.source, edition.name)
        if stored and file.editions > 1:  # an edition of such a file does not change
            has_stored_edition = True
            continue
        try:
            fetched.append(await _fetch_edition(file, edition, key, stored, shared))
        except AbsentError as error:
            absence = absence or str(error)
            continue
        except ImplausibleError as error:
            fetched.append(FetchedFile(file.source, edition.name, "refuse", str(error)))
        if file.editions == 1:
            break
    if not fetched and not has_stored_edition:
        raise FetchError(
            f"{absence}; the register may have moved it: give its new address in the configuration"
        )


async def _fetch_edition(
    file: PublishedFile,
    edition: Edition,
    key: Mapping[str, str],
    before: Receipt | None,
    shared: _FetchRun,
) -> FetchedFile:
    """Fetch one edition, check it, move it to its final path, and write its receipt.

    Args:
        key: the HTTP header with the key of the account; can be empty.
        before: the receipt of this edition in the folder; None if the edition is not there.
    """
    folder = shared.raw / file.source
    part = RecordedPart(folder / receipt.FOLDER / edition.name, edition.address)
    slowest = shared.settings.source_settings(file.source).slowest
    download = EditionDownload(
        client=shared.client,
        file=file,
        part=part,
        key=key,
        bounded=file.source not in shared.settings.accept,
        slowest=shared.settings.slowest if slowest is None else slowest,
        on_bytes=shared.on_bytes,
        report=shared.report,
    )
    if not await download.run(before):
        assert before is not None  # only a request with the condition of a receipt returns False
        return _keep_edition(before, shared)
    validators = part.validators
    digest = await asyncio.to_thread(manifests.digest, part.path)
    if before and digest.blake3 == before.blake3:
        part.discard()  # the server has sent the same bytes again
        confirmed = replace(before, etag=validators.etag, modifie=validators.modifie)
        return _keep_edition(confirmed, shared)
    try:
        rows = await asyncio.to_thread(
            _check_and_count_rows, file, edition, part.path, digest.size, shared
        )
    except ImplausibleError:
        part.path.replace(part.path.with_name(f"{edition.name}.refused"))
        part.remove_record()
        raise
    new_receipt = Receipt(
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
        recu=shared.timestamp,
        verifie=shared.timestamp,
    )
    atomic_files.rename_synced_file(part.path, folder / edition.name)
    receipt.write(folder, new_receipt)
    part.remove_record()
    return FetchedFile(file.source, edition.name, "nouveau", receipt=new_receipt)


def _check_and_count_rows(
    file: PublishedFile, edition: Edition, path: Path, size: int, shared: _FetchRun
) -> int:
    """Count the rows of a complete file; compare the file with its bounds, unless its source is accepted at any size.

    Raises:
        ImplausibleError: the file is not credible.
    """
    rows = published_files.count_rows_isolated(
        shared.settings.limits, path, edition.name, file.source
    )
    if file.source not in shared.settings.accept:
        receipts = receipt.read_all(shared.raw / file.source, file.name)
        published_files.compare(file, size, rows, receipts[0] if receipts else None)
    return rows


def _keep_edition(before: Receipt, shared: _FetchRun) -> FetchedFile:
    """Record that the server still has the edition of the receipt `before`; return the outcome."""
    checked = replace(before, verifie=shared.timestamp)
    receipt.write(shared.raw / before.source, checked)
    return FetchedFile(before.source, before.fichier, "inchange", receipt=checked)


def _manual_download(file: PublishedFile, folder: Path) -> str:
    """The reason for a file without an address, with the steps to take by hand."""
    account = f" (it requires: {file.account})" if file.account else ""
    return (
        f"it has no fixed address{account}; put the files into {folder}, or give an address in"
        f" the configuration: [source.{file.source}] addresses"
    )


def _key_header(file: PublishedFile, settings: FetchSettings) -> dict[str, str]:
    """The HTTP header with the key of the account; empty if the source needs no account.

    Raises:
        FetchError: the source needs an account, and its key is not configured.
    """
    if reason := missing_key_reason(file, settings):
        raise FetchError(reason)
    secret = settings.source_settings(file.source).secret
    return {file.header or "Authorization": secret} if secret else {}


def missing_key_reason(file: PublishedFile, settings: FetchSettings) -> str:
    """The message with the remedy if the source needs an account and its key is not configured; otherwise ""."""
    if not file.header or settings.source_settings(file.source).secret:
        return ""
    variable = secret_name(file.source)
    return f"it requires: {file.account}; set {variable} to the value of the header {file.header}"


def secret_name(source: str) -> str:
    """The environment variable with the key of a source.

    >>> secret_name("be-nbb")
    'FETCH_SECRET_BE_NBB'
    """
    return SECRET_PREFIX + source.upper().replace("-", "_")
