"""Makes a workbook: reads what is asked for, writes its sheets in their order (F8).

Intro · Périmètre, Par pays, Par secteur · Liste, Contacts · one a company · Méthodologie,
Journal
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final

from serve.export.workbook import companies, content, intro, resources, scope, statements
from serve.export.workbook.content import Content
from serve.export.workbook.export_request import ExportRequest, ExportResult
from serve.export.workbook.labels import Labels
from serve.export.workbook.sheet import Book, Sheet, naive
from shards.generations.generation_files import Generation

# The sheets around those of the companies, by the names of their words.
FIXED: Final = ("intro", "scope", "countries", "sectors", "list", "contacts", "method", "log")

# The colours of tabs: what it is about, the scope, the companies, their statements, the rest.
_TABS: Final = {"intro": "#1F3A5F", "scope": "#2E75B6", "list": "#548235", "comptes": "#BF9000",
                "resources": "#7F7F7F"}  # fmt: skip


@dataclass(slots=True)
class _Watch:
    """How long each step took: for the Journal, and for nothing else."""

    since: float = field(default_factory=perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def note(self, step: str) -> None:
        now = perf_counter()
        self.seconds[step], self.since = now - self.since, now


def make(asked: ExportRequest, generation: Generation, path: Path, temporary: Path) -> ExportResult:
    """Write the workbook of `asked` to `path`.

    Args:
        generation: the one that is asked for, open.
        temporary: a folder for what is written before it is put together; emptied again.

    Raises:
        OSError: there is no room for it.
        ShardError: the generation is damaged.
    """
    watch = _Watch()
    found = content.find(generation, asked)
    watch.note("searching")
    known = content.read(generation, asked, found)
    watch.note("reading")
    words = Labels(asked.lang)
    with Book(path, temporary, _properties(asked, words)) as book:
        _write(book, known, words, watch)
        book.close()
    return ExportResult(len(known.rows), known.census.total, len(known.comptes))


def _write(book: Book, known: Content, words: Labels, watch: _Watch) -> None:
    comptes = known.sheets_of(words(name) for name in FIXED)
    footer = f"{words('title')} · {words('version')} {known.asked.folder.name}"

    def sheet(name: str, tab: str, write: Callable[[Sheet], None], across: int = 1) -> None:
        made = book.sheet(name, _TABS[tab])
        write(made)
        down = 1 if tab == "intro" else 0
        made.on_paper(footer, landscape=tab != "comptes", across=across, down=down)

    sheet(words("intro"), "intro", lambda s: intro.write(s, known, words, comptes))
    sheet(words("scope"), "scope", lambda s: scope.scope(s, known, words))
    sheet(words("countries"), "scope", lambda s: scope.by_country(s, known, words))
    sheet(words("sectors"), "scope", lambda s: scope.by_sector(s, known, words))
    sheet(words("list"), "list", lambda s: companies.liste(s, known, words, comptes), across=4)
    sheet(words("contacts"), "list", lambda s: companies.contacts(s, known, words))
    for row, name in comptes.items():
        sheet(name, "comptes", partial(statements.write, content=known, row=row, words=words))
    sheet(words("method"), "resources", lambda s: resources.methodology(s, known, words))
    watch.note("writing")
    sheet(words("log"), "resources", lambda s: resources.journal(s, known, words, watch.seconds))


def _properties(asked: ExportRequest, words: Labels) -> dict[str, object]:
    """The document properties; its date is that of the data, so that it stays the same file."""
    return {
        "title": words("title"),
        "subject": words("subject"),
        "author": "societes",
        "keywords": words("keywords"),
        "comments": f"{words('version')} {asked.folder.name}",
        "created": naive(asked.published),
    }
