"""/rapprochement: the companies that the lines of a list mean (extensions X5).

The list is pasted or sent as a file; it is matched and counted as `POST /api/v1/rapprochement` does, 1 000 lines at a
time. Without a script a form sends the list and the page shows the verdicts. With one (assets/match.js), a longer list
is read once (`sortie=lecture`), comes back in pieces, and each piece is sent by itself. What was understood of a list
has a choice above each column, also where nothing was (`columns`). Verdicts are folded by 50, to be reviewed first.
"""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from serve.access import admission, body_thread
from serve.access.admission import Call
from serve.access.call import PreparedCall, Request, Response
from serve.api.matching.rapprochement import rapprochement
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.limits import LINES_PER_CALL, MOST_LINES, VISITOR_LINES
from serve.contract.objects.matching import LigneRapprochee, LigneRefusee, Rapprochement
from serve.generation.open_generation import OpenGeneration
from serve.guests.site.page_request import PageRequest
from serve.guests.site.pages import export_form
from serve.guests.site.pages.lists import columns, match_csv, offers
from serve.guests.site.pages.lists.csv_files import encodings, list_file, table_lines
from serve.guests.site.pages.lists.csv_files.list_file import ListFile
from serve.guests.site.render import page
from serve.guests.site.search import facet_bars
from serve.request.line_list import LineList

_ROUTE: Final = "/api/v1/rapprochement"
_CANDIDATES: Final = 3
_FILE: Final = "rapprochement.csv"
_NUMBER: Final = re.compile(r"[1-9]\d{0,4}", re.ASCII)
# What a form may ask for: a page of verdicts, a file of them, or what was understood of the list, in pieces.
_PAGE, _CSV, _READING = "page", "csv", "lecture"
_OUTPUTS: Final = (_PAGE, _CSV, _READING)
# To be reviewed first; a page of the review has so many rows.
_REVIEWED: Final = ("ambigu", "probable", "erreur", "aucun", "sur")
_ROWS: Final = 50
_NOTHING: Final = {"table": None, "pieces": None, "results": None, "error": "", "part": None}

# The number of a line, its cells, and the answer to it.
_Row = tuple[int, Sequence[str], LigneRapprochee | LigneRefusee]


class _ReviewPage(NamedTuple):
    """Rows of one verdict, from the `first` of it on."""

    first: int
    rows: Sequence[_Row]
    is_open: bool


async def show(request: PageRequest) -> Response:
    """The form, with what the plan allows today.

    Raises:
        ApiError: 429, 503.
        StoreUnavailable
    """
    return await _page(request)


async def match(request: PageRequest) -> Response:
    """The verdicts on a list, or what is wrong with it.

    Raises:
        ApiError: 429, 503.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    try:
        return await _answer(request)
    except ApiError as error:
        if error.status not in (400, 413) and error.code != "quota_api":
            raise
        return await _page(request, error=request.t(*error.texts), status=error.status)


async def _answer(request: PageRequest) -> Response:
    """The response to a form. Raises ApiError as `match`, and 400, 413, 429 `quota_api`."""
    form = request.form
    output = form.get("sortie") or _PAGE
    if output not in _OUTPUTS:
        known = ", ".join(_OUTPUTS)
        why = errors.why("inconnu_admis", shown=repr(output[:50]), known=known)
        raise errors.parametre_invalide("sortie", why)
    first = form.get("debut") or "1"
    if not _NUMBER.fullmatch(first):
        why = errors.why("autre_type", shown=repr(first[:20]), wanted=errors.why("rang"))
        raise errors.parametre_invalide("debut", why)
    chosen, is_headed = columns.chosen_fields(form), columns.is_headed(form)
    sent = _sent(request)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        table = await body_thread.parse(sent, partial(_read, request, chosen, is_headed))
        try:
            return await _answer_to_table(request, generation, table, output, int(first))
        finally:
            await body_thread.parse(sent, table.free)


async def _answer_to_table(
    request: PageRequest, generation: OpenGeneration, table: ListFile, output: str, first: int
) -> Response:
    """The response to a list that was read, whose rows are a piece that begins with row `first`."""
    sent = _sent(request)
    try:
        columns.check(columns.chosen_fields(request.form))
        list_file.check_columns(table)
    except ApiError as error:
        return await _page(request, table=table, error=request.t(*error.texts), status=error.status)
    if output == _READING:
        return await _page(request, table=table, pieces=await _pieces(request, table))
    country = request.form.get("pays", "")
    asked = await body_thread.parse(
        sent, partial(table_lines.lines, table, generation.names, _CANDIDATES, country)
    )
    matched, outcome = await _match(request, asked)
    text = await body_thread.parse(
        sent, partial(match_csv.write, table, matched.resultats, heading=first == 1)
    )
    if output == _CSV:
        headers = {
            "Content-Type": "text/csv; charset=utf-8",
            "Content-Disposition": f'attachment; filename="{_FILE}"',
            "Cache-Control": "no-store",
        }
        return Response(200, text, headers, outcome)
    beyond = sum(map(_is_beyond, matched.resultats))  # lines after those that a visitor may have
    answered = list(zip(table.rows, matched.resultats, strict=True))[: len(table.rows) - beyond]
    results = [(number, *one) for number, one in enumerate(answered, first)]
    counts = _count_verdicts(matched)
    return await _page(
        request,
        table=table,
        outcome=outcome,
        results=len(results),
        pages=_pages(results),
        beyond=beyond,
        verdicts=counts,
        exports=await export_form.meter(request),
        csv=b64encode(text).decode(),
    )


async def offer_part(
    request: PageRequest, output: str, taken: Sequence[str], chosen: int
) -> Response:
    """A page that says how many of the chosen companies one search may name, and offers these.

    Raises:
        StoreUnavailable
    """
    return await _page(request, part=taken, chosen=chosen, output=output)


def _read(
    request: PageRequest, chosen: Mapping[int, str] | None, is_headed: bool | None
) -> ListFile:
    """The list of a form: its file, or the text in it."""
    form = request.form
    text, file = form.get("texte", ""), request.file
    if text.strip() and file:
        raise errors.corps_invalide(errors.why("fichier_et_texte"))
    if len(file) > list_file.LARGEST:
        raise errors.corps_trop_grand(list_file.LARGEST)
    separator = {"tab": "\t"}.get(given := form.get("separateur", ""), given)
    if file:
        return list_file.read(file, form.get("encodage", ""), separator, chosen, is_headed)
    return list_file.read(text.encode(), "UTF-8", separator, chosen, is_headed)


async def _match(request: PageRequest, asked: LineList) -> tuple[Rapprochement, str]:
    """The answers to lines, and what happened to the counters."""
    server, trace = request.server, request.trace

    def prepare(given: Request, generation: OpenGeneration) -> PreparedCall[Rapprochement]:
        return rapprochement(asked, given, generation, request.lang)

    admitted = await admission.admit_caller(server, request.caller, trace)
    call = Call(_ROUTE, (), tuple)
    result = await admission.perform(server, admitted, prepare, call, trace)
    assert result.content is not None  # without If-None-Match there is no 304
    return result.content, result.outcome


async def _pieces(request: PageRequest, table: ListFile) -> list[str]:
    """The lines that the plan allows today, as lists of at most 1 000 lines."""
    rows = table.rows[: await _lines_left(request)]
    parts = [rows[first : first + MOST_LINES] for first in range(0, len(rows), MOST_LINES)]
    return await body_thread.parse(
        _sent(request), lambda: [list_file.write(table.own_headings, part) for part in parts]
    )


async def _lines_left(request: PageRequest) -> int:
    """The lines that the caller may have matched today; of one list, for a visitor."""
    session = request.session
    if session is None:
        return VISITOR_LINES
    usage = await request.store.usage(session.account.id, request.caller.plan, request.now)
    return max(0, usage.calls.limit - usage.calls.used) * LINES_PER_CALL


def _count_verdicts(matched: Rapprochement) -> dict[str, int]:
    """How many lines have each verdict, or an error."""
    found = dict.fromkeys(_REVIEWED, 0)
    for one in matched.resultats:
        if not _is_beyond(one):
            found[_verdict(one)] += 1
    return found


def _pages(results: Sequence[_Row]) -> dict[str, Sequence[_ReviewPage]]:
    """The pages of each verdict, those to be reviewed first; as many are open as show no more than one page."""
    room = _ROWS
    pages_by_verdict: dict[str, Sequence[_ReviewPage]] = {}
    for name in _REVIEWED:
        rows = [row for row in results if _verdict(row[2]) == name]
        pages: list[_ReviewPage] = []
        for first in range(0, len(rows), _ROWS):
            part = rows[first : first + _ROWS]
            is_open = room == _ROWS or len(part) <= room
            room = room - len(part) if is_open else 0
            pages.append(_ReviewPage(first + 1, part, is_open))
        pages_by_verdict[name] = pages
    return pages_by_verdict


def _verdict(answer: LigneRapprochee | LigneRefusee) -> str:
    return answer.verdict if isinstance(answer, LigneRapprochee) else "erreur"


def _is_beyond(answer: LigneRapprochee | LigneRefusee) -> bool:
    """Whether a line was not matched since its sender has no account."""
    return isinstance(answer, LigneRefusee) and answer.erreur.code == "compte_requis"


def _sent(request: PageRequest) -> int:
    """Bytes of the list of a form, nearly."""
    return len(request.file) + len(request.form.get("texte", ""))


async def _list_text(request: PageRequest, table: ListFile | None) -> str:
    """The text of the form: as it was sent, or that of a file, which no browser sends twice."""
    if request.form.get("debut"):  # a piece, of which only the rows are shown
        return ""
    if table and request.file and request.form.get("sortie") != _READING:
        separator = table.separator or ";"
        return await body_thread.parse(
            _sent(request), partial(list_file.write, table.own_headings, table.rows, separator)
        )
    return request.form.get("texte", "")


def _name_columns(request: PageRequest, table: ListFile | None) -> ListFile | None:
    """The table, whose columns go by their place in the language of the page where they have no headings."""
    if table is None or table.is_headed or len(table.headings) == 1:
        return table
    places = range(1, len(table.headings) + 1)
    return table._replace(headings=tuple(request.t(f"colonne {n}", f"column {n}") for n in places))


async def _page(
    request: PageRequest, *, status: int = 200, outcome: str = "", **values: Any
) -> Response:
    shown = _NOTHING | {"listed": await _list_text(request, values.get("table"))} | values
    shown["table"] = _name_columns(request, shown["table"])
    with request.server.published.lease() as generation:
        return page(
            request, "matching.html",
            status=status,
            headers={"Cache-Control": "no-store"},
            outcome=outcome,
            names=facet_bars.labels(request, generation.reference),
            countries=generation.names.pays,
            encodings=list(encodings.CHOICES),
            line_fields=columns.FIELDS,
            choice=offers.values(request),
            page_rows=_ROWS,
            most=list_file.MOST_ROWS,
            most_at_once=MOST_LINES,
            per_call=LINES_PER_CALL,
            left=await _lines_left(request),
            **shown,
        )  # fmt: skip
