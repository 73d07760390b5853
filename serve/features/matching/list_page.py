"""/listes/{code}: a matched list with its verdicts and choices (extensions X5), and its files.

It costs nothing to open, filter, rename or download a list, and to choose candidates; the workbook of its companies
counts as an export. A list of an account opens for the people of this account, a list of a visitor for anyone who has
its address.

The CSV has the columns of the list as sent, then those of the chosen company: RFC 4180 in UTF-8 with a byte-order mark,
with the separator of the list. In French the decimal sign is a comma, unless the comma separates columns. A cell that a
spreadsheet would compute begins with an apostrophe.
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

ROWS: Final = 50  # lines on a page
PATH: Final = "/listes/"
# The number of a line from 1, then the place of the candidate from 0; without a place, no company is chosen.
_CHOICE: Final = re.compile(r"([1-9]\d{0,4}):(\d?)", re.ASCII)
_PAGE: Final = re.compile(r"[1-9]\d{0,3}", re.ASCII)

# Wire names, for programs; the prefix `societe_` keeps them apart from the columns of the list.
COLUMNS: Final = (
    "verdict", "note", "choix", "societe_iso2", "societe_id", "societe_nom", "societe_ville",
    "societe_code_postal", "societe_etat", "raisons", "autres_candidats", "erreur",
)  # fmt: skip
# The fields of the columns `societe_nom` to `societe_etat`.
_COMPANY_FIELDS: Final = ("nom", "ville", "code_postal", "etat")
# A number or a telephone number. It may begin with a sign, but no spreadsheet computes it, so it is not guarded.
_NUMBER: Final = re.compile(r"[+-]?[\d ., ()]*")
_LONGEST_ADDRESS: Final = 32_000  # characters; nginx.conf and the server accept twice as much


class _View(NamedTuple):
    """The part of a list on the page: the lines of a verdict ("" for all), and the number of the page."""

    verdict: str
    page: int

    def query(self, **changes: str | int) -> str:
        """The query string of this view with changes; defaults are left out."""
        pairs = {"verdict": self.verdict, "page": self.page, **changes}
        changed = {name: value for name, value in pairs.items() if value not in ("", 1)}
        return f"?{urlencode(changed)}" if changed else ""


_ALL_LINES: Final = _View("", 1)


async def show(request: PageRequest) -> Response:
    """Show the page of a matched list, or send the list as a CSV file if `format` is `csv`.

    Raises:
        ApiError: 400, 404.
        StoreUnavailable
    """
    opened = await stored_lists.open_stored_list(request, request.segments[0])
    if stored_lists.needs_log_in(request, opened):
        return see_other(f"/connexion?suite={quote(request.path, safe='/')}")
    file_format = last_value(request.pairs, "format")
    if file_format == "csv":
        return await _csv_file(request, opened)
    if file_format:
        raise errors.invalid_parameter(
            "format", "inconnu_admis", shown=repr(file_format[:50]), known="csv"
        )
    return await show_opened(request, opened, _view(request))


async def change(request: PageRequest) -> Response:
    """Carry out a form of the list: change the list, or open its chosen companies as a search or a workbook.

    Raises:
        ApiError: 400, 404; those of the download.
        StoreUnavailable: not stored or counted, or `maybe_done`.
    """
    opened = await stored_lists.open_stored_list(request, request.segments[0])
    if stored_lists.needs_log_in(request, opened):
        return see_other(f"/connexion?suite={quote(request.path, safe='/')}")
    action = "choix" if request.form.get("choix") else request.form.get("geste", "")
    if action not in _ACTIONS:
        raise ApiError("geste_inconnu", act=action[:40])
    try:
        return await _ACTIONS[action](request, opened)
    except UnknownError as error:
        raise ApiError("liste_introuvable") from error


async def _choose(request: PageRequest, opened: OpenList) -> Response:
    """Choose a candidate of a line, or no candidate; remember the company as matched (X19).

    The account may later see the companies that it has matched in a search by `ids`, even beyond the rows of its plan.
    Redirects to the line in the list.
    """
    text = request.form["choix"]
    choice = _CHOICE.fullmatch(text)
    number = int(choice[1]) if choice else 0
    if choice is None or number > opened.head.lines:
        raise _invalid_choice(text)
    line = await stored_lists.line_at(request, opened, number - 1)
    candidate = int(choice[2]) if choice[2] else None
    if candidate is not None and candidate >= len(line.candidates):
        raise _invalid_choice(text)
    await stored_lists.choose(request, opened, number - 1, candidate)
    if candidate is not None and request.session:
        company = line.candidates[candidate]
        account = request.session.account.id
        await own_matches.remember(
            request.store, account, [(company.iso2, company.id)], request.trace
        )
    view = _view(request)
    return see_other(f"{PATH}{opened.code}{view.query()}#l{number}")


async def _rename(request: PageRequest, opened: OpenList) -> Response:
    """Rename the list; a blank name changes nothing."""
    name = " ".join(request.form.get("nom", "").split()) or opened.head.name
    head, now = opened.head, seconds(request.now)
    await request.store.submit(lists.rename, head.id, head.account, name, now)
    return see_other(f"{PATH}{opened.code}")


async def _delete(request: PageRequest, opened: OpenList) -> Response:
    """Delete the list and redirect to the page with the visitor's other lists, or to the form."""
    head, now = opened.head, seconds(request.now)
    await request.store.submit(lists.delete, head.id, head.account, now)
    return see_other("/compte#listes" if opened.head.account else "/rapprochement")


async def _open_search(request: PageRequest, opened: OpenList) -> Response:
    """Open the chosen companies as a search.

    If they are too many for a search, the page asks first; the form then sends `premieres` for the first ones.
    """
    companies = await _chosen_companies(request, opened)
    fitting = _cut_to_fit(companies)
    if len(fitting) < len(companies) and not request.form.get("premieres"):
        view = _view(request)
        return await show_opened(
            request, opened, view, fitting_count=len(fitting), chosen_count=len(companies)
        )
    return see_other(f"/?{_search_query(fitting)}")


async def _make_workbook(request: PageRequest, opened: OpenList) -> Response:
    """Make the workbook of the chosen companies, which counts as an export.

    Raises:
        ApiError: 400: no company is chosen; 404: this server has no exports; those of the download.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    if request.session is None:
        return see_other(f"/connexion?suite={quote(request.path, safe='/')}")
    downloads = request.server.service(Downloads)
    if downloads is None:
        raise request.server.product.unknown_path(request.path)
    lines = await stored_lists.lines_without_companies(request, opened, range(opened.head.lines))
    companies = _distinct_companies(lines)
    form = {"recherche": _search_query(companies[:MOST_IDS]), "format": "xlsx", "comptes": "1"}
    own_list = await _own_list(request, opened, lines)
    return await downloads.download(replace(request, form=form), own_list)


# The action of a form, by its field `geste`; a form with the field `choix` chooses a candidate.
_ACTIONS: Final[Mapping[str, Callable[[PageRequest, OpenList], Awaitable[Response]]]] = {
    "choix": _choose,
    "nom": _rename,
    "supprimer": _delete,
    "recherche": _open_search,
    "xlsx": _make_workbook,
}


def _invalid_choice(text: str) -> ApiError:
    """The error of a choice that is not the number of a line and of one of its candidates."""
    return errors.invalid_parameter("choix", "autre_forme", shown=repr(text[:20]), example="12:0")


def _view(request: PageRequest) -> _View:
    """Read the view in the address.

    Raises:
        ApiError: 400: there is no such verdict or page.
    """
    verdict = last_value(request.pairs, "verdict") or ""
    if verdict and verdict not in stored_lists.SHOWN_VERDICTS:
        verdicts = ", ".join(stored_lists.SHOWN_VERDICTS)
        raise errors.invalid_parameter(
            "verdict", "inconnu_admis", shown=repr(verdict[:50]), known=verdicts
        )
    number = last_value(request.pairs, "page") or "1"
    if not _PAGE.fullmatch(number):
        raise errors.invalid_parameter(
            "page", "autre_type", shown=repr(number[:20]), wanted=errors.text("rang")
        )
    return _View(verdict, int(number))


async def show_opened(
    request: PageRequest,
    opened: OpenList,
    view: _View = _ALL_LINES,
    *,
    fitting_count: int = 0,
    chosen_count: int = 0,
) -> Response:
    """Show a page of the list.

    Args:
        fitting_count: the number of companies that a search can name, if the chosen ones are too many; else 0.
        chosen_count: the number of chosen companies in this case; else 0.
    """
    headings = stored_lists.display_headings(request, opened.table)
    opened = opened._replace(table=opened.table._replace(headings=headings))
    places = opened.places(view.verdict)
    first = ROWS * (view.page - 1)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        page_places = places[first : first + ROWS]
        lines = await stored_lists.lines_at(request, generation, opened, page_places)
        doubles = await stored_lists.repeated_companies(request, generation, opened, lines)
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
            part=fitting_count,
            chosen=chosen_count,
            change_since=_change_since,
            most_described=MOST_IDS,
            exports=await request.export_meter(),
            names=formatting.labels(request, generation.reference),
            reasons_of=lambda codes: reasons.reasons_of_match(codes, request.lang),
            day_of=lambda seconds: datetime.fromtimestamp(seconds, UTC).date().isoformat(),
        )  # fmt: skip


async def _csv_file(request: PageRequest, opened: OpenList) -> Response:
    """The CSV file of all lines, as a response.

    Raises:
        StoreUnavailable
    """
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        places = range(opened.head.lines)
        lines = await stored_lists.lines_at(request, generation, opened, places)
    text = await loop_guard.parse(opened.head.size, partial(write_csv, opened, lines, request.lang))
    name = files.list_name(opened.head.name, request.now.date(), ".csv")
    headers = {
        "Content-Type": "text/csv; charset=utf-8",
        "Content-Disposition": files.attachment(name),
        "Cache-Control": "no-store",
    }
    return Response(200, text, headers)


def write_csv(opened: OpenList, lines: Sequence[StoredLine], lang: str) -> bytes:
    """Write lines as CSV, in the order given."""
    separator = opened.table.separator or ";"
    decimal_sign = "," if lang == "fr" and separator != "," else "."
    rows = [
        [
            _guard_cell(cell, separator)
            for cell in (*_own_cells(opened, line), *_company_cells(line, lang, decimal_sign))
        ]
        for line in lines
    ]
    headings = [_guard_cell(cell, separator) for cell in (*opened.table.headings, *COLUMNS)]
    return b"\xef\xbb\xbf" + list_file.write(headings, rows, separator).encode()


def _own_cells(opened: OpenList, line: StoredLine) -> Sequence[str]:
    """The cells of a line, one for each column of the list; the last cell has the surplus cells of the row."""
    width = len(opened.table.headings)
    cells = [*line.cells, *[""] * (width - len(line.cells))]
    return [*cells[: width - 1], " ".join(cells[width - 1 :])]


def _company_cells(line: StoredLine, lang: str, decimal_sign: str) -> Sequence[str]:
    """The cells of COLUMNS for a line; `erreur` also has the note that the chosen company is gone or renamed."""
    if line.error:
        return (line.verdict, *[""] * (len(COLUMNS) - 2), _plain_error(line, lang))
    chosen = line.chosen_candidate
    company = chosen.company or {} if chosen else {}
    change_note = _change_since(chosen, lang)
    others = [candidate for candidate in line.candidates if candidate is not chosen]
    joiner = "; " if lang == "en" else " ; "
    return (
        line.verdict,
        repr(chosen.note).replace(".", decimal_sign) if chosen else "",
        _decider(line),
        *((chosen.iso2, chosen.id) if chosen else ("", "")),
        *(str(company.get(name) or "") for name in _COMPANY_FIELDS),
        joiner.join(reasons.reasons_of_match(chosen.reasons, lang)) if chosen else "",
        joiner.join(_candidate_text(candidate, decimal_sign) for candidate in others),
        change_note,
    )


def _change_since(candidate: StoredCandidate | None, lang: str) -> str:
    """A note that a company is gone or renamed since the line was matched; "" if neither."""
    if candidate is None:
        return ""
    if candidate.company is None:
        return stored_lists.GONE[lang == "en"]
    return stored_lists.RENAMED[lang == "en"] if candidate.is_renamed else ""


def _decider(line: StoredLine) -> str:
    """Who chose: a person (`manuel`), even to choose no company; the matcher (`automatique`); or nobody ("")."""
    if line.is_own:
        return "manuel"
    return "" if line.choice is None else "automatique"


def _candidate_text(candidate: StoredCandidate, decimal_sign: str) -> str:
    """A candidate as `UK:00944111 Name (0.87)`."""
    name = candidate.company["nom"] if candidate.company else ""
    note = f"{candidate.note:.2f}".replace(".", decimal_sign)
    return f"{candidate.iso2}:{candidate.id} {name} ({note})"


def _guard_cell(cell: str, separator: str) -> str:
    """The cell, with the apostrophe that exports use against formulas; a number is left as it is.

    >>> [_guard_cell(cell, ";") for cell in ("=1+1", "+33 1 23", "-5,2", "@ABC", "x,=1")]
    ["'=1+1", '+33 1 23', '-5,2', "'@ABC", "x,'=1"]
    """
    return cell if _NUMBER.fullmatch(cell) else files.guard_formula(cell, separator)


async def _chosen_companies(request: PageRequest, opened: OpenList) -> Sequence[str]:
    """The chosen companies as values of `ids`, in the order of the list, each once.

    Raises:
        ApiError: 400: no company is chosen.
        StoreUnavailable
    """
    return _distinct_companies(
        await stored_lists.lines_without_companies(request, opened, opened.chosen_places)
    )


def _distinct_companies(lines: Sequence[StoredLine]) -> Sequence[str]:
    """The chosen companies of these lines as values of `ids`, each once. Raises ApiError 400 if there are none."""
    companies = [
        f"{chosen.iso2}:{chosen.id}" for line in lines if (chosen := line.chosen_candidate)
    ]
    if not companies:
        raise errors.invalid_parameter("ids", "aucune_societe")
    return list(dict.fromkeys(companies))


def _cut_to_fit(companies: Sequence[str]) -> Sequence[str]:
    """The first companies, as many as a search can name and an address can hold.

    >>> [len(_cut_to_fit(["FR:552100554"] * n)) for n in (3, 1_001)], len(_cut_to_fit(["FR:" + "é" * 64] * 999))
    ([3, 1000], 82)
    """
    room, fitting = _LONGEST_ADDRESS, []
    for company in companies[:MOST_IDS]:
        room -= len(quote(company, safe=":")) + 1
        if room < 0:
            break
        fitting.append(company)
    return fitting


def _search_query(companies: Sequence[str]) -> str:
    """The query string of the search for these companies."""
    return urlencode({"ids": ",".join(companies)}, quote_via=quote, safe=",:")


async def _own_list(request: PageRequest, opened: OpenList, lines: Sequence[StoredLine]) -> OwnList:
    """The list for the workbook of its companies, with its lines as JSON."""
    packed = await loop_guard.parse(
        opened.head.size,
        lambda: orjson.dumps([tuple(_own_line(opened, line, request.lang)) for line in lines]),
    )
    headings = stored_lists.display_headings(request, opened.table)
    return OwnList(opened.head.name, headings, packed, tuple(opened.table.unused_places))


def _own_line(opened: OpenList, line: StoredLine, lang: str) -> OwnLine:
    """A line for the workbook: its cells, and the verdict and company of the match."""
    chosen = line.chosen_candidate
    return OwnLine(
        list(_own_cells(opened, line)),
        line.verdict,
        chosen.note if chosen else None,
        _decider(line),
        (chosen.iso2, chosen.id) if chosen else None,
        _plain_error(line, lang),
    )


def _plain_error(line: StoredLine, lang: str) -> str:
    """The error of a line without backquotes, "" without an error."""
    return line.error[lang == "en"].replace("`", "") if line.error else ""
