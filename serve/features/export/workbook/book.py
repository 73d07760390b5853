"""A workbook: its data are read, then its sheets are written in their order (F8).

Ma liste (where a reader's list is asked for) · Intro · Périmètre, Par pays, Par secteur · Liste,
Contacts · Chiffres clés, Comptes (lignes), Index des comptes, one sheet per company with
statements · Méthodologie, Journal
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final

from serve.features.export.workbook import (
    company_accounts,
    export_data,
    export_sheets,
    key_figures_sheet,
    list_sheets,
    statement_sheet,
)
from serve.features.export.workbook.export_data import ExportData, ExportRequest, ExportResult
from serve.features.export.workbook.labels import Labels
from serve.features.export.workbook.sheet import Book, Sheet, naive_moment
from shards.generations.generation_files import Generation

# The sheets before and after those of the companies, by the names of their labels.
FIXED: Final = ("intro", "scope", "countries", "sectors", "list", "contacts", "key_figures", "lines", "index",
                "method", "log")  # fmt: skip

# The colours of tabs, by the group of the sheet.
_TABS: Final = {"intro": "#1F3A5F", "scope": "#2E75B6", "list": "#548235", "comptes": "#BF9000",
                "resources": "#7F7F7F"}  # fmt: skip


# The sheets with the accounts of all companies, by the names of their labels.
_SIDE_BY_SIDE: Final = {
    "key_figures": key_figures_sheet.write,
    "lines": list_sheets.lines_sheet,
    "index": list_sheets.index_sheet,
}


@dataclass(slots=True)
class _Watch:
    """A stopwatch for the steps; only the sheet Journal shows its figures."""

    since: float = field(default_factory=perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def note(self, step: str) -> None:
        """Record the time since the last step."""
        now = perf_counter()
        self.seconds[step], self.since = now - self.since, now


def make(
    request: ExportRequest, generation: Generation, path: Path, temporary: Path
) -> ExportResult:
    """Write the workbook of `request` to `path`.

    Args:
        generation: the generation of the request, open.
        temporary: a folder for the parts of the file; it is empty again unless an error is raised.

    Raises:
        OSError: the disk is full.
        ShardError: the generation is damaged.
    """
    watch = _Watch()
    facets = export_data.find(generation, request)
    watch.note("searching")
    data = export_data.read(generation, request, facets)
    watch.note("reading")
    labels = Labels(request.lang)
    book = Book(path, temporary, _properties(request, labels), request.lang)
    _write(book, data, labels, watch)
    book.close()
    return ExportResult(data.count, data.facets.total, len(data.comptes))


def _write(book: Book, data: ExportData, labels: Labels, watch: _Watch) -> None:
    comptes = data.sheets_of(labels(name) for name in (*FIXED, "own_list"))
    footer = f"{labels('title')} · {labels('version')} {data.request.folder.name}"

    def sheet(name: str, tab: str, write: Callable[[Sheet], None]) -> None:
        made = book.sheet(name, _TABS[tab])
        write(made)
        made.set_page(footer, pages_high=1 if tab == "intro" else 0)

    if data.request.own:
        sheet(labels("own_list"), "list", lambda s: list_sheets.own_list(s, data, labels, comptes))
    sheet(labels("intro"), "intro", lambda s: export_sheets.intro(s, data, labels, comptes))
    sheet(labels("scope"), "scope", lambda s: export_sheets.scope(s, data, labels))
    sheet(labels("countries"), "scope", lambda s: export_sheets.by_country(s, data, labels))
    sheet(labels("sectors"), "scope", lambda s: export_sheets.by_sector(s, data, labels))
    sheet(labels("list"), "list", lambda s: list_sheets.liste(s, data, labels, comptes))
    sheet(labels("contacts"), "list", lambda s: list_sheets.contacts(s, data, labels))
    companies = company_accounts.accounts_of_sheets(data, comptes)
    for name, write in _SIDE_BY_SIDE.items():
        sheet(
            labels(name), "comptes", partial(write, data=data, labels=labels, companies=companies)
        )
    for accounts in companies:
        sheet(
            accounts.sheet,
            "comptes",
            partial(statement_sheet.write, data=data, accounts=accounts, labels=labels),
        )
    sheet(labels("method"), "resources", lambda s: export_sheets.methodology(s, data, labels))
    watch.note("writing")
    sheet(
        labels("log"),
        "resources",
        lambda s: export_sheets.journal(s, data, labels, watch.seconds),
    )


def _properties(request: ExportRequest, labels: Labels) -> dict[str, object]:
    """The document properties; the date is that of the data, so that equal requests give equal files."""
    return {
        "title": labels("title"),
        "subject": labels("subject"),
        "author": "societes",
        "keywords": labels("keywords"),
        "comments": f"{labels('version')} {request.folder.name}",
        "created": naive_moment(request.published),
    }
