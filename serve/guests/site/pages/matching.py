"""/rapprochement: the companies that the lines of a list mean (extensions X5).

The list is pasted or sent as a file; it is matched and counted as `POST /api/v1/rapprochement` does, 1 000 lines at a
time. Without a script a form sends the list and the page shows the verdicts. With one (assets/match.js), a longer list
is read once (`sortie=lecture`), comes back in pieces, and each piece is sent by itself.
"""

import re
from base64 import b64encode
from functools import partial
from typing import Any, Final

from serve.access import admission
from serve.access.admission import Call
from serve.access.result import PreparedCall, Request, Response
from serve.api.matching.rapprochement import rapprochement
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.limits import LINES_PER_CALL, MOST_LINES, VISITOR_LINES
from serve.contract.objects.matching import LigneRapprochee, LigneRefusee, Rapprochement
from serve.generation.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from serve.guests.site.page_request import PageRequest
from serve.guests.site.pages import match_csv
from serve.guests.site.render import page
from serve.guests.site.search import facet_bars
from serve.request.line_list import LineList
from serve.request.lists import encodings, list_file, table_lines
from serve.request.lists.list_file import ListFile

_ROUTE: Final = "/api/v1/rapprochement"
_CANDIDATES: Final = 3
_FILE: Final = "rapprochement.csv"
_NUMBER: Final = re.compile(r"[1-9]\d{0,4}", re.ASCII)
# What a form may ask for: a page of verdicts, a file of them, or what was understood of the list, in pieces.
_PAGE, _CSV, _READING = "page", "csv", "lecture"
_OUTPUTS: Final = (_PAGE, _CSV, _READING)


async def show(request: PageRequest) -> Response:
    """The form, with what the plan allows today.

    Raises:
        ApiError: 429, 503.
        StoreUnavailable
    """
    request.server.gate.lists(request.trace.address, request.now)
    return await _page(request)


async def match(request: PageRequest) -> Response:
    """The verdicts on a list, or what is wrong with it.

    Raises:
        ApiError: 429, 503.
        StoreUnavailable: nothing was counted.
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
        raise errors.parametre_invalide("sortie", (f"admis : {known}", f"admitted: {known}"))
    first = form.get("debut") or "1"
    if not _NUMBER.fullmatch(first):
        shown = repr(first[:20])
        raise errors.parametre_invalide(
            "debut", (f"un rang est attendu, pas {shown}", f"a row is expected, not {shown}")
        )
    sent = len(request.file) + len(form.get("texte", ""))
    request.server.gate.lists(request.trace.address, request.now, sent)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        reading = partial(_read, request)
        table = await generation.in_thread(EXPENSIVE_MICROSECONDS, reading)
        if output == _READING:
            return await _page(request, table=table, pieces=await _pieces(request, table))
        asked = table_lines.lines(table, generation.names, _CANDIDATES, form.get("pays", ""))
        matched, outcome = await _match(request, asked)
    text = match_csv.write(table, matched.resultats, heading=first == "1")
    if output == _CSV:
        headers = {
            "Content-Type": "text/csv; charset=utf-8",
            "Content-Disposition": f'attachment; filename="{_FILE}"',
            "Cache-Control": "no-store",
        }
        return Response(200, text, headers, outcome)
    beyond = sum(map(_is_beyond, matched.resultats))  # lines after those that a visitor may have
    results = list(zip(table.rows, matched.resultats, strict=True))
    return await _page(
        request,
        table=table,
        outcome=outcome,
        results=results[: len(results) - beyond],
        beyond=beyond,
        first=int(first),
        verdicts=_count_verdicts(matched),
        csv=b64encode(text).decode(),
    )


def _read(request: PageRequest) -> ListFile:
    """The list of a form: its file, or the text in it."""
    form = request.form
    text, file = form.get("texte", ""), request.file
    if text.strip() and file:
        why = (
            "un fichier et un texte : envoyez l'un ou l'autre",
            "a file and a text: send one of them",
        )
        raise errors.corps_invalide(why)
    if len(file) > list_file.LARGEST:
        raise errors.corps_trop_grand(list_file.LARGEST)
    separator = {"tab": "\t"}.get(given := form.get("separateur", ""), given)
    if file:
        return list_file.read(file, form.get("encodage", ""), separator)
    return list_file.read(text.encode(), "UTF-8", separator)


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
    parts = (rows[first : first + MOST_LINES] for first in range(0, len(rows), MOST_LINES))
    return [list_file.write(table.headings, part) for part in parts]


async def _lines_left(request: PageRequest) -> int:
    """The lines that the caller may have matched today; of one list, for a visitor."""
    session = request.session
    if session is None:
        return VISITOR_LINES
    usage = await request.store.usage(session.account.id, request.caller.plan, request.now)
    return max(0, usage.calls.limit - usage.calls.used) * LINES_PER_CALL


def _count_verdicts(matched: Rapprochement) -> dict[str, int]:
    """How many lines have each verdict, or an error."""
    found = dict.fromkeys(("sur", "probable", "ambigu", "aucun", "erreur"), 0)
    for one in matched.resultats:
        if not _is_beyond(one):
            found[one.verdict if isinstance(one, LigneRapprochee) else "erreur"] += 1
    return found


def _is_beyond(one: LigneRapprochee | LigneRefusee) -> bool:
    """Whether a line was not matched since its sender has no account."""
    return isinstance(one, LigneRefusee) and one.erreur.code == "compte_requis"


async def _page(
    request: PageRequest, *, status: int = 200, outcome: str = "", **values: Any
) -> Response:
    shown = {"table": None, "pieces": None, "results": None, "error": ""} | values
    with request.server.published.lease() as generation:
        return page(
            request, "matching.html",
            status=status,
            headers={"Cache-Control": "no-store"},
            outcome=outcome,
            names=facet_bars.labels(request, generation.reference),
            countries=generation.names.pays,
            encodings=list(encodings.CHOICES),
            most=list_file.MOST_ROWS,
            most_at_once=MOST_LINES,
            per_call=LINES_PER_CALL,
            left=await _lines_left(request),
            **shown,
        )  # fmt: skip
