"""/listes/{code}: a list that was matched, with its verdicts and choices (extensions X5), and its files.

To open, filter, choose, rename or save a list costs nothing; only the workbook of its companies counts, as an export.
A list of an account opens for the people of that account, one of a visitor for whoever has its address.

The CSV has the columns of the list as they were sent, then those of the company that is chosen: RFC 4180 in UTF-8 with
a mark, with the separator of the list. Its decimal sign is that of the language, unless it separates columns. A cell
that a spreadsheet would compute begins with an apostrophe.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

import orjson

from quota.errors import UnknownError
from quota.ledger import lists
from quota.periods import seconds
from serve.access import loop_guard, own_matches
from serve.access.call import Response
from serve.contract import errors, files, reasons
from serve.contract.errors import ApiError
from serve.contract.files import OwnLine, OwnList
from serve.contract.parameters import MOST_IDS
from serve.features.matching import list_file, stored_lists
from serve.features.matching.stored_lists import OpenList, StoredCandidate, StoredLine
from serve.surfaces.site import formatting
from serve.surfaces.site.page_request import Downloads, PageRequest, last_value
from serve.surfaces.site.render import page, see_other

ROWS: Final = 50  # of a page
PATH: Final = "/listes/"
_CHOICE: Final = re.compile(r"([1-9]\d{0,4}):(\d?)", re.ASCII)
_PAGE: Final = re.compile(r"[1-9]\d{0,3}", re.ASCII)

# Names of the wire, for programs; those of the company are apart from the columns of the list.
COLUMNS: Final = (
    "verdict", "note", "choix", "societe_iso2", "societe_id", "societe_nom", "societe_ville",
    "societe_code_postal", "societe_etat", "raisons", "autres_candidats", "erreur",
)  # fmt: skip
_COMPANY: Final = ("nom", "ville", "code_postal", "etat")
_NUMBER: Final = re.compile(r"[+-]?[\d ., ()]*")
_LONGEST: Final = 32_000  # characters of an address; half of what nginx.conf and the server take


class _View(NamedTuple):
    """The part of a list that is shown: the lines of a verdict ("" for all), and a page of them."""

    verdict: str
    page: int

    def query(self, **changes: str | int) -> str:
        """The query string of this view with changes; what is as at first is left out."""
        pairs = {"verdict": self.verdict, "page": self.page, **changes}
        shown = {name: value for name, value in pairs.items() if value not in ("", 1)}
        return f"?{urlencode(shown)}" if shown else ""


_ALL: Final = _View("", 1)


async def show(request: PageRequest) -> Response:
    """The list, or its file.

    Raises:
        ApiError: 400, 404.
        StoreUnavailable
    """
    opened = await stored_lists.open_list(request, request.segments[0])
    if stored_lists.needs_log_in(request, opened):
        return see_other(f"/connexion?suite={quote(request.path, safe='/')}")
    wanted = last_value(request.pairs, "format")
    if wanted == "csv":
        return await _csv_file(request, opened)
    if wanted:
        raise errors.invalid_parameter(
            "format", "inconnu_admis", shown=repr(wanted[:50]), known="csv"
        )
    return await show_opened(request, opened, _view(request))


async def change(request: PageRequest) -> Response:
    """Change a list, or make something of the companies that are chosen in it.

    Raises:
        ApiError: 400, 404; those of the download.
        StoreUnavailable: not stored or counted, or `maybe_done`.
    """
    opened = await stored_lists.open_list(request, request.segments[0])
    if stored_lists.needs_log_in(request, opened):
        return see_other(f"/connexion?suite={quote(request.path, safe='/')}")
    act = "choix" if request.form.get("choix") else request.form.get("geste", "")
    if act not in _ACTS:
        raise ApiError("geste_inconnu", act=act[:40])
    try:
        return await _ACTS[act](request, opened)
    except UnknownError as error:
        raise ApiError("liste_introuvable") from error


async def _choose(request: PageRequest, opened: OpenList) -> Response:
    """Choose another candidate of a line, or none, and remember it as matched (X19)."""
    given = request.form["choix"]
    choice = _CHOICE.fullmatch(given)
    number = int(choice[1]) if choice else 0
    if choice is None or number > opened.head.lines:
        raise _no_choice(given)
    line = await stored_lists.line_at(request, opened, number - 1)
    candidate = int(choice[2]) if choice[2] else None
    if candidate is not None and candidate >= len(line.candidates):
        raise _no_choice(given)
    await stored_lists.choose(request, opened, number - 1, candidate)
    if candidate is not None and request.session:
        one = line.candidates[candidate]
        account = request.session.account.id
        await own_matches.remember(request.store, account, [(one.iso2, one.id)], request.trace)
    view = _view(request)
    return see_other(f"{PATH}{opened.code}{view.query()}#l{number}")


async def _rename(request: PageRequest, opened: OpenList) -> Response:
    name = " ".join(request.form.get("nom", "").split()) or opened.head.name
    head, now = opened.head, seconds(request.now)
    await request.store.submit(lists.rename, head.id, head.account, name, now)
    return see_other(f"{PATH}{opened.code}")


async def _delete(request: PageRequest, opened: OpenList) -> Response:
    head, now = opened.head, seconds(request.now)
    await request.store.submit(lists.delete, head.id, head.account, now)
    return see_other("/compte#listes" if opened.head.account else "/rapprochement")


async def _search(request: PageRequest, opened: OpenList) -> Response:
    """The chosen companies as a search; of more than it may name, the first ones where the form says so."""
    companies = await _chosen_companies(request, opened)
    taken = _cut_to_fit(companies)
    if len(taken) < len(companies) and not request.form.get("premieres"):
        view = _view(request)
        return await show_opened(request, opened, view, part=len(taken), chosen=len(companies))
    return see_other(f"/?{_search_of(taken)}")


async def _workbook(request: PageRequest, opened: OpenList) -> Response:
    """The workbook of the chosen companies, which counts as an export.

    Raises:
        ApiError: 400: none is chosen; 404: no exports are offered; those of the download.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    if request.session is None:
        return see_other(f"/connexion?suite={quote(request.path, safe='/')}")
    downloads = request.server.service(Downloads)
    if downloads is None:
        raise request.server.product.unknown_path(request.path)
    lines = await stored_lists.lines_without_companies(request, opened, range(opened.head.lines))
    companies = _chosen(lines)
    form = {"recherche": _search_of(companies[:MOST_IDS]), "format": "xlsx", "comptes": "1"}
    own = await _own_list(request, opened, lines)
    return await downloads.download(replace(request, form=form), own)


_ACTS: Final[Mapping[str, Callable[[PageRequest, OpenList], Awaitable[Response]]]] = {
    "choix": _choose,
    "nom": _rename,
    "supprimer": _delete,
    "recherche": _search,
    "xlsx": _workbook,
}


def _no_choice(given: str) -> ApiError:
    return errors.invalid_parameter("choix", "autre_forme", shown=repr(given[:20]), example="12:0")


def _view(request: PageRequest) -> _View:
    """The view that the address names.

    Raises:
        ApiError: 400: there is no such verdict or page.
    """
    verdict = last_value(request.pairs, "verdict") or ""
    if verdict and verdict not in stored_lists.SHOWN_VERDICTS:
        known = ", ".join(stored_lists.SHOWN_VERDICTS)
        raise errors.invalid_parameter(
            "verdict", "inconnu_admis", shown=repr(verdict[:50]), known=known
        )
    given = last_value(request.pairs, "page") or "1"
    if not _PAGE.fullmatch(given):
        raise errors.invalid_parameter(
            "page", "autre_type", shown=repr(given[:20]), wanted=errors.text("rang")
        )
    return _View(verdict, int(given))


async def show_opened(
    request: PageRequest,
    opened: OpenList,
    view: _View = _ALL,
    *,
    part: int = 0,
    chosen: int = 0,
) -> Response:
    """A page of the list.

    Args:
        part: as many of the `chosen` companies as one search may name, where they are too many.
    """
    headings = stored_lists.shown_headings(request, opened.table)
    opened = opened._replace(table=opened.table._replace(headings=headings))
    places = opened.places(view.verdict)
    first = ROWS * (view.page - 1)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        shown = places[first : first + ROWS]
        lines = await stored_lists.lines_at(request, generation, opened, shown)
        doubles = await stored_lists.doubles(request, generation, opened, lines)
        return page(
            request, "list.html",
            headers={"Cache-Control": "no-store"},
            opened=opened,
            view=view,
            lines=lines,
            doubles=doubles,
            count=len(places),
            pages=-(-len(places) // ROWS),
            first=first,
            chosen_lines=len(opened.chosen_places),
            part=part,
            chosen=chosen,
            remarks=_remarks,
            most_described=MOST_IDS,
            exports=await request.export_meter(),
            names=formatting.labels(request, generation.reference),
            reasons_of=lambda codes: reasons.reasons_of_match(codes, request.lang),
            day_of=lambda seconds: datetime.fromtimestamp(seconds, UTC).date().isoformat(),
        )  # fmt: skip


async def _csv_file(request: PageRequest, opened: OpenList) -> Response:
    """The file of all lines.

    Raises:
        StoreUnavailable
    """
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        places = range(opened.head.lines)
        lines = await stored_lists.lines_at(request, generation, opened, places)
    text = await loop_guard.parse(
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
            for cell in (*_own_cells(opened, line), *_company_cells(line, lang, point))
        ]
        for line in lines
    ]
    headings = [_guard(cell, separator) for cell in (*opened.table.headings, *COLUMNS)]
    return b"\xef\xbb\xbf" + list_file.write(headings, rows, separator).encode()


def _own_cells(opened: OpenList, line: StoredLine) -> Sequence[str]:
    """The cells of a line, as many as the list has columns; the last one has what a row has beyond."""
    width = len(opened.table.headings)
    cells = [*line.cells, *[""] * (width - len(line.cells))]
    return [*cells[: width - 1], " ".join(cells[width - 1 :])]


def _company_cells(line: StoredLine, lang: str, point: str) -> Sequence[str]:
    if line.error:
        return (line.verdict, *[""] * (len(COLUMNS) - 2), _plain_error(line, lang))
    best = line.chosen
    company = best.company or {} if best else {}
    changes = _remarks(best, lang)
    others = [one for one in line.candidates if one is not best]
    between = "; " if lang == "en" else " ; "
    return (
        line.verdict,
        repr(best.note).replace(".", point) if best else "",
        _choice_of(line),
        *((best.iso2, best.id) if best else ("", "")),
        *(str(company.get(name) or "") for name in _COMPANY),
        between.join(reasons.reasons_of_match(best.reasons, lang)) if best else "",
        between.join(_named(one, point) for one in others),
        changes,
    )


def _remarks(candidate: StoredCandidate | None, lang: str) -> str:
    """What happened to a chosen company since the line was matched; "" for nothing."""
    if candidate is None:
        return ""
    if candidate.company is None:
        return stored_lists.GONE[lang == "en"]
    return stored_lists.RENAMED[lang == "en"] if candidate.is_renamed else ""


def _choice_of(line: StoredLine) -> str:
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


async def _chosen_companies(request: PageRequest, opened: OpenList) -> Sequence[str]:
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
        raise errors.invalid_parameter("ids", "aucune_societe")
    return list(dict.fromkeys(companies))


def _cut_to_fit(companies: Sequence[str]) -> Sequence[str]:
    """The first companies that one search may name and one address holds.

    >>> [len(_cut_to_fit(["FR:552100554"] * n)) for n in (3, 1_001)], len(_cut_to_fit(["FR:" + "é" * 64] * 999))
    ([3, 1000], 82)
    """
    room, taken = _LONGEST, []
    for company in companies[:MOST_IDS]:
        room -= len(quote(company, safe=":")) + 1
        if room < 0:
            break
        taken.append(company)
    return taken


def _search_of(companies: Sequence[str]) -> str:
    """The query string of the search for companies."""
    return urlencode({"ids": ",".join(companies)}, quote_via=quote, safe=",:")


async def _own_list(request: PageRequest, opened: OpenList, lines: Sequence[StoredLine]) -> OwnList:
    packed = await loop_guard.parse(
        opened.head.size + 1,
        lambda: orjson.dumps([tuple(_own_line(opened, line, request.lang)) for line in lines]),
    )
    headings = stored_lists.shown_headings(request, opened.table)
    return OwnList(opened.head.name, headings, packed, tuple(opened.table.unused_places))


def _own_line(opened: OpenList, line: StoredLine, lang: str) -> OwnLine:
    best = line.chosen
    return OwnLine(
        list(_own_cells(opened, line)),
        line.verdict,
        best.note if best else None,
        _choice_of(line),
        (best.iso2, best.id) if best else None,
        _plain_error(line, lang),
    )


def _plain_error(line: StoredLine, lang: str) -> str:
    """The error of a line without the marks of code."""
    return line.error[lang == "en"].replace("`", "") if line.error else ""
