"""Files of a matched list: the CSV of its lines, the search for its companies, and the workbook of them.

The CSV has the columns of the list as they were sent, then those of the company that is chosen: RFC 4180 in UTF-8 with
a mark, with the separator of the list. Its decimal sign is that of the language, unless it separates columns. A cell
that a spreadsheet would compute begins with an apostrophe.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final
from urllib.parse import quote, urlencode

import orjson

from serve.access import body_thread
from serve.access.call import Response
from serve.contract import errors, files, reasons
from serve.contract.files import OwnLine, OwnList
from serve.contract.parameters import MOST_IDS
from serve.features.matching import list_file, stored_lists
from serve.features.matching.stored_lists import OpenList, StoredCandidate, StoredLine
from serve.surfaces.site.exports import Downloads
from serve.surfaces.site.page_request import PageRequest

# Names of the wire, for programs; those of the company are apart from the columns of the list.
COLUMNS: Final = (
    "verdict", "note", "choix", "societe_iso2", "societe_id", "societe_nom", "societe_ville",
    "societe_code_postal", "societe_etat", "raisons", "autres_candidats", "erreur",
)  # fmt: skip
_COMPANY: Final = ("nom", "ville", "code_postal", "etat")
_NUMBER: Final = re.compile(r"[+-]?[\d ., ()]*")
_LONGEST: Final = 32_000  # characters of an address; half of what nginx.conf and the server take


async def csv_file(request: PageRequest, opened: OpenList) -> Response:
    """The file of all lines.

    Raises:
        StoreUnavailable
    """
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        places = range(opened.head.lines)
        lines = await stored_lists.lines_at(request, generation, opened, places)
    text = await body_thread.parse(
        opened.head.size + 1, partial(write_csv, opened, lines, request.lang)
    )
    name = files.list_name(opened.head.name, request.now.date(), ".csv")
    headers = {
        "Content-Type": "text/csv; charset=utf-8",
        "Content-Disposition": files.attachment(name),
        "Cache-Control": "no-store",
    }
    return Response(200, text, headers)


def write_csv(opened: OpenList, lines: Sequence[StoredLine], lang: str) -> bytes:
    """The file of lines, in their order."""
    separator = opened.table.separator or ";"
    point = "," if lang == "fr" and separator != "," else "."
    rows = [
        [
            _guard(cell, separator)
            for cell in (*own_cells(opened, line), *_company_cells(line, lang, point))
        ]
        for line in lines
    ]
    headings = [_guard(cell, separator) for cell in (*opened.table.headings, *COLUMNS)]
    return b"\xef\xbb\xbf" + list_file.write(headings, rows, separator).encode()


def own_cells(opened: OpenList, line: StoredLine) -> Sequence[str]:
    """The cells of a line, as many as the list has columns; the last one has what a row has beyond."""
    width = len(opened.table.headings)
    cells = [*line.cells, *[""] * (width - len(line.cells))]
    return [*cells[: width - 1], " ".join(cells[width - 1 :])]


def _company_cells(line: StoredLine, lang: str, point: str) -> Sequence[str]:
    if line.error:
        return (line.verdict, *[""] * (len(COLUMNS) - 2), _plain_error(line, lang))
    best = line.chosen
    company = best.company or {} if best else {}
    changes = remarks(best, lang)
    others = [one for one in line.candidates if one is not best]
    between = "; " if lang == "en" else " ; "
    return (
        line.verdict,
        repr(best.note).replace(".", point) if best else "",
        choice_of(line),
        *((best.iso2, best.id) if best else ("", "")),
        *(str(company.get(name) or "") for name in _COMPANY),
        between.join(reasons.reasons_of_match(best.reasons, lang)) if best else "",
        between.join(_named(one, point) for one in others),
        changes,
    )


def remarks(candidate: StoredCandidate | None, lang: str) -> str:
    """What happened to a chosen company since the line was matched; "" for nothing."""
    if candidate is None:
        return ""
    if candidate.company is None:
        return stored_lists.GONE[lang == "en"]
    return stored_lists.RENAMED[lang == "en"] if candidate.is_renamed else ""


def choice_of(line: StoredLine) -> str:
    """Who chose the company: `manuel` for a person, also where none is chosen, `automatique` for the matcher."""
    if line.is_own:
        return "manuel"
    return "" if line.choice is None else "automatique"


def _named(candidate: StoredCandidate, point: str) -> str:
    name = candidate.company["nom"] if candidate.company else ""
    note = f"{candidate.note:.2f}".replace(".", point)
    return f"{candidate.iso2}:{candidate.id} {name} ({note})"


def _guard(cell: str, separator: str) -> str:
    """The cell, guarded as those of an export; a number is left as it is.

    >>> [_guard(cell, ";") for cell in ("=1+1", "+33 1 23", "-5,2", "@ABC", "x,=1")]
    ["'=1+1", '+33 1 23', '-5,2', "'@ABC", "x,'=1"]
    """
    return cell if _NUMBER.fullmatch(cell) else files.guard_formula(cell, separator)


async def chosen_companies(request: PageRequest, opened: OpenList) -> Sequence[str]:
    """The chosen companies as items of `ids`, in the order of the list, each once.

    Raises:
        ApiError: 400: none is chosen.
        StoreUnavailable
    """
    return _chosen(
        await stored_lists.lines_without_companies(request, opened, opened.chosen_places)
    )


def _chosen(lines: Sequence[StoredLine]) -> Sequence[str]:
    companies = [f"{one.iso2}:{one.id}" for line in lines if (one := line.chosen)]
    if not companies:
        raise errors.parametre_invalide("ids", errors.why("aucune_societe"))
    return list(dict.fromkeys(companies))


def cut_to_fit(companies: Sequence[str]) -> Sequence[str]:
    """The first companies that one search may name and one address holds.

    >>> [len(cut_to_fit(["FR:552100554"] * n)) for n in (3, 1_001)], len(cut_to_fit(["FR:" + "é" * 64] * 999))
    ([3, 1000], 82)
    """
    room, taken = _LONGEST, []
    for company in companies[:MOST_IDS]:
        room -= len(quote(company, safe=":")) + 1
        if room < 0:
            break
        taken.append(company)
    return taken


def search_of(companies: Sequence[str]) -> str:
    """The query string of the search for companies."""
    return urlencode({"ids": ",".join(companies)}, quote_via=quote, safe=",:")


async def workbook(request: PageRequest, opened: OpenList) -> Response:
    """The workbook of the chosen companies, which counts as an export.

    Raises:
        ApiError: 400: none is chosen; 404: no exports are offered; those of the download.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    downloads = request.server.service(Downloads)
    if downloads is None:
        raise request.server.product.unknown_path(request.path)
    lines = await stored_lists.lines_without_companies(request, opened, range(opened.head.lines))
    companies = _chosen(lines)
    form = {"recherche": search_of(companies[:MOST_IDS]), "format": "xlsx", "comptes": "1"}
    own = await _own_list(request, opened, lines)
    return await downloads.download(replace(request, form=form), own)


async def _own_list(request: PageRequest, opened: OpenList, lines: Sequence[StoredLine]) -> OwnList:
    packed = await body_thread.parse(
        opened.head.size + 1,
        lambda: orjson.dumps([tuple(_own_line(opened, line, request.lang)) for line in lines]),
    )
    headings = stored_lists.shown_headings(request, opened.table)
    return OwnList(opened.head.name, headings, packed, tuple(opened.table.unused_places))


def _own_line(opened: OpenList, line: StoredLine, lang: str) -> OwnLine:
    best = line.chosen
    return OwnLine(
        list(own_cells(opened, line)),
        line.verdict,
        best.note if best else None,
        choice_of(line),
        (best.iso2, best.id) if best else None,
        _plain_error(line, lang),
    )


def _plain_error(line: StoredLine, lang: str) -> str:
    """The error of a line without the marks of code."""
    return line.error[lang == "en"].replace("`", "") if line.error else ""
