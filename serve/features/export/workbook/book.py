"""A workbook: the data are read, then the sheets are written in this order (F8).

Ma liste (in the export of a list) · Intro · Périmètre, Par pays, Par secteur · Liste,
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

# The sheets that every workbook has, by the names of their labels.
FIXED: Final = ("intro", "scope", "countries", "sectors", "list", "contacts", "key_figures", "lines", "index",
                "method", "log")  # fmt: skip

# The colours of the tabs, by group of sheets.
_TABS: Final = {"intro": "#1F3A5F", "scope": "#2E75B6", "list": "#548235", "comptes": "#BF9000",
                "resources": "#7F7F7F"}  # fmt: skip


# The functions that write the lists of the statements of all companies, by the names of the labels of their sheets.
_STATEMENT_LISTS: Final = {
    "key_figures": key_figures_sheet.write,
    "lines": list_sheets.write_lines_sheet,
    "index": list_sheets.write_index_sheet,
}


@dataclass(slots=True)
class _Stopwatch:
    """A stopwatch for the steps of an export; the sheet Journal shows the seconds of each step."""

    since: float = field(default_factory=perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def note(self, step: str) -> None:
        """Record the time since the last step as the time of `step`."""
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
    watch = _Stopwatch()
    facets = export_data.find_rows(generation, request)
    watch.note("searching")
    data = export_data.read_data(generation, request, facets)
    watch.note("reading")
    labels = Labels(request.lang)
    book = Book(path, temporary, _properties(request, labels), request.lang)
    _write(book, data, labels, watch)
    book.close()
    return ExportResult(data.count, data.facets.total, len(data.comptes))


def _write(book: Book, data: ExportData, labels: Labels, watch: _Stopwatch) -> None:
    """Write the sheets that the request and the plan call for, in their order.

    `watch` records the time of the writing, which the last sheet (Journal) shows.
    """
    # The names of the statement sheets, by row of the file.
    comptes = data.sheets_of(labels(name) for name in (*FIXED, "own_list"))
    footer = f"{labels('title')} · {labels('version')} {data.request.folder.name}"

    def add_sheet(name: str, tab: str, write: Callable[[Sheet], None]) -> None:
        """Add a sheet with the colour of the group `tab`, write it, and set its page."""
        new_sheet = book.sheet(name, _TABS[tab])
        write(new_sheet)
        new_sheet.set_page(footer, pages_high=1 if tab == "intro" else 0)

    if data.request.own:
        add_sheet(
            labels("own_list"),
            "list",
            lambda sheet: list_sheets.write_own_list_sheet(sheet, data, labels, comptes),
        )
    add_sheet(
        labels("intro"),
        "intro",
        lambda sheet: export_sheets.write_intro_sheet(sheet, data, labels, comptes),
    )
    add_sheet(
        labels("scope"), "scope", lambda sheet: export_sheets.write_scope_sheet(sheet, data, labels)
    )
    add_sheet(
        labels("countries"),
        "scope",
        lambda sheet: export_sheets.write_country_sheet(sheet, data, labels),
    )
    add_sheet(
        labels("sectors"),
        "scope",
        lambda sheet: export_sheets.write_sector_sheet(sheet, data, labels),
    )
    add_sheet(
        labels("list"),
        "list",
        lambda sheet: list_sheets.write_list_sheet(sheet, data, labels, comptes),
    )
    add_sheet(
        labels("contacts"),
        "list",
        lambda sheet: list_sheets.write_contacts_sheet(sheet, data, labels),
    )
    companies = company_accounts.accounts_of_sheets(data, comptes)
    for name, write in _STATEMENT_LISTS.items():
        add_sheet(
            labels(name), "comptes", partial(write, data=data, labels=labels, companies=companies)
        )
    for accounts in companies:
        add_sheet(
            accounts.sheet,
            "comptes",
            partial(statement_sheet.write, data=data, accounts=accounts, labels=labels),
        )
    add_sheet(
        labels("method"),
        "resources",
        lambda sheet: export_sheets.write_methodology_sheet(sheet, data, labels),
    )
    watch.note("writing")
    add_sheet(
        labels("log"),
        "resources",
        lambda sheet: export_sheets.write_journal_sheet(sheet, data, labels, watch.seconds),
    )


def _properties(request: ExportRequest, labels: Labels) -> dict[str, object]:
    """The document properties. `created` is the publication of the data, so that equal requests give equal files."""
    return {
        "title": labels("title"),
        "subject": labels("subject"),
        "author": "societes",
        "keywords": labels("keywords"),
        "comments": f"{labels('version')} {request.folder.name}",
        "created": naive_moment(request.published),
    }
