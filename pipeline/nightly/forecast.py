"""The plan of a night, `nightly --plan`: it asks no server and writes nothing.

A server may have something new, so what is fetched is what would be asked for; files that are here are compared with
the imports that are here.
"""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from pipeline.nightly import fetching, imports, published_files, receipt
from pipeline.nightly.config import NightlyConfig
from pipeline.nightly.fetching import FetchSettings
from pipeline.nightly.published_files import PublishedFile
from shards.generations import pointer


def lines(config: NightlyConfig, settings: FetchSettings, today: date) -> Iterator[str]:
    """The plan of a night, for a terminal.

    Raises:
        FetchError: an address in the settings that is none.
    """
    raw, table, inputs = config.work / "raw", published_files.read(), 0
    for source in config.sources:
        yield f"{source}:"
        for file in published_files.with_settings(table[source], settings.of_source(source)):
            yield f"  fetch: {_fetch(file, settings, raw / source, today)}"
            if not settings.of_source(source).fetch:
                break
        fresh, done = imports.pending_files(source, raw, config.work)
        inputs += bool(fresh or done)
        if fresh:
            yield f"  import: {', '.join(fresh)}"
        if done:
            yield f"  imported already: {', '.join(done)}"
        if not fresh and not done:
            yield f"  import: only what comes; no file is in {raw / source}"
    stays = pointer.current_name(config.data) or "nothing"
    yield f"build: {inputs} of {len(config.sources)} sources have files here, into {config.data}"
    yield f"  countries without a change are linked; published now: {stays}"


def _fetch(file: PublishedFile, settings: FetchSettings, folder: Path, today: date) -> str:
    """What would be asked for of one file."""
    if not settings.of_source(file.source).fetch or not file.address:
        return f"nothing, by hand: its files are put into {folder}"
    if reason := fetching.lacks_key(file, settings):
        return f"nothing: {reason}"
    last = receipt.all_of(folder, file.name)
    if file.days is None and last and (folder / last[0].fichier).is_file():
        return f"nothing: {last[0].fichier} is here, and never published again"
    editions = published_files.editions(file, today)
    if file.editions > 1:
        editions = [one for one in editions if not (folder / one.name).is_file()] or editions
    newest = editions[0]
    more = f" and up to {len(editions) - 1} older editions" if len(editions) > 1 else ""
    came = f", of which {last[0].fichier} came on {last[0].recu[:10]}" if last else ""
    part = folder / receipt.FOLDER / newest.name
    begun = f", from byte {part.stat().st_size:,} on" if part.is_file() else ""
    return f"{newest.address}{more}{came}{begun}"
