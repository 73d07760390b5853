"""/listes/{code}: a list that was matched, with its verdicts and choices (extensions X5).

To open, filter, choose, rename or save a list costs nothing; only the workbook of its companies counts, as an export.
A list of an account opens for the people of that account, one of a visitor for whoever has its address.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

from quota.errors import UnknownError
from serve.access import own_matches
from serve.access.call import Response
from serve.contract import errors, reasons
from serve.contract.errors import ApiError
from serve.contract.parameters import MOST_IDS
from serve.features.matching import list_downloads, stored_lists
from serve.features.matching.stored_lists import OpenList
from serve.surfaces.site import exports, render
from serve.surfaces.site.errors import page_errors
from serve.surfaces.site.page_request import PageRequest, last_value
from serve.surfaces.site.search import facet_bars

ROWS: Final = 50  # of a page
PATH: Final = "/listes/"
_CHOICE: Final = re.compile(r"([1-9]\d{0,4}):(\d?)", re.ASCII)
_PAGE: Final = re.compile(r"[1-9]\d{0,3}", re.ASCII)


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
        return render.see_other(f"/connexion?suite={quote(request.path, safe='/')}")
    wanted = last_value(request.pairs, "format")
    if wanted == "csv":
        return await list_downloads.csv_file(request, opened)
    if wanted:
        why = errors.why("inconnu_admis", shown=repr(wanted[:50]), known="csv")
        raise errors.parametre_invalide("format", why)
    return await show_opened(request, opened, _view(request))


async def change(request: PageRequest) -> Response:
    """Change a list, or make something of the companies that are chosen in it.

    Raises:
        ApiError: 400, 404; those of the download.
        StoreUnavailable: not stored or counted, or `maybe_done`.
    """
    opened = await stored_lists.open_list(request, request.segments[0])
    if stored_lists.needs_log_in(request, opened):
        return render.see_other(f"/connexion?suite={quote(request.path, safe='/')}")
    act = "choix" if request.form.get("choix") else request.form.get("geste", "")
    if act not in _ACTS:
        raise page_errors.geste_inconnu(act)
    try:
        return await _ACTS[act](request, opened)
    except UnknownError as error:
        raise page_errors.liste_introuvable() from error


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
        await own_matches.note(request.store, account, [(one.iso2, one.id)], request.trace)
    view = _view(request)
    return render.see_other(f"{PATH}{opened.code}{view.query()}#l{number}")


async def _rename(request: PageRequest, opened: OpenList) -> Response:
    name = " ".join(request.form.get("nom", "").split()) or opened.head.name
    await request.store.lists.rename(opened.head, name, request.now)
    return render.see_other(f"{PATH}{opened.code}")


async def _delete(request: PageRequest, opened: OpenList) -> Response:
    await request.store.lists.delete(opened.head, request.now)
    return render.see_other("/compte#listes" if opened.head.account else "/rapprochement")


async def _search(request: PageRequest, opened: OpenList) -> Response:
    """The chosen companies as a search; of more than it may name, the first ones where the form says so."""
    companies = await list_downloads.chosen_companies(request, opened)
    taken = list_downloads.cut_to_fit(companies)
    if len(taken) < len(companies) and not request.form.get("premieres"):
        view = _view(request)
        return await show_opened(request, opened, view, part=len(taken), chosen=len(companies))
    return render.see_other(f"/?{list_downloads.search_of(taken)}")


async def _workbook(request: PageRequest, opened: OpenList) -> Response:
    """The workbook of the chosen companies, which counts as an export."""
    if request.session is None:
        return render.see_other(f"/connexion?suite={quote(request.path, safe='/')}")
    return await list_downloads.workbook(request, opened)


_ACTS: Final[Mapping[str, Callable[[PageRequest, OpenList], Awaitable[Response]]]] = {
    "choix": _choose,
    "nom": _rename,
    "supprimer": _delete,
    "recherche": _search,
    "xlsx": _workbook,
}


def _no_choice(given: str) -> ApiError:
    why = errors.why("autre_forme", shown=repr(given[:20]), example="12:0")
    return errors.parametre_invalide("choix", why)


def _view(request: PageRequest) -> _View:
    """The view that the address names.

    Raises:
        ApiError: 400: there is no such verdict or page.
    """
    verdict = last_value(request.pairs, "verdict") or ""
    if verdict and verdict not in stored_lists.SHOWN_VERDICTS:
        known = ", ".join(stored_lists.SHOWN_VERDICTS)
        why = errors.why("inconnu_admis", shown=repr(verdict[:50]), known=known)
        raise errors.parametre_invalide("verdict", why)
    given = last_value(request.pairs, "page") or "1"
    if not _PAGE.fullmatch(given):
        why = errors.why("autre_type", shown=repr(given[:20]), wanted=errors.why("rang"))
        raise errors.parametre_invalide("page", why)
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
        return render.page(
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
            remarks=list_downloads.remarks,
            most_described=MOST_IDS,
            exports=await exports.meter(request),
            names=facet_bars.labels(request, generation.reference),
            reasons_of=lambda codes: reasons.reasons_of_match(codes, request.lang),
            day_of=lambda seconds: datetime.fromtimestamp(seconds, UTC).date().isoformat(),
        )  # fmt: skip
