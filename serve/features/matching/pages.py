"""/rapprochement: a list comes in, is matched, and is kept at an address of its own (extensions X5).

The list is pasted or sent as a file; it is matched and counted as `POST /api/v1/rapprochement` does, 1 000 lines at a
time, and the response leads to `/listes/{code}` (`list_page`), where nothing costs anything any more. Without a script
a form sends the list. With one (assets/match.js), a list is read once (`sortie=lecture`), comes back in pieces, and
each piece is added to the list. An Excel workbook is read as the CSV of its first sheet.

Above each column of a list is a choice: the fields `colonne_0`, `colonne_1`, … of the form, and `titres`. They count
where `colonnes` says that somebody chose.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from quota.errors import NotAllowedError, StoreUnavailable, UnknownError
from quota.ledger import lists
from quota.ledger.lists import ListPart
from quota.new_values import new_list
from quota.periods import seconds
from serve.access import admission, loop_guard
from serve.access.call import PreparedCall, Request, Response
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.parameters import LINES_PER_CALL, MOST_LINES, VISITOR_LINES
from serve.contract.text import Text
from serve.features.matching import (
    encodings,
    line_list,
    list_file,
    list_page,
    stored_lists,
    xlsx_file,
)
from serve.features.matching.answers import Rapprochement
from serve.features.matching.line_list import LineList
from serve.features.matching.list_file import ListFile
from serve.features.matching.rapprochement import rapprochement
from serve.features.matching.stored_lists import ListTable, OpenList, StoredLine
from serve.generation.open_generation import OpenGeneration
from serve.surfaces.site import formatting, render
from serve.surfaces.site.page_request import FIELDS, PageRequest, WebRoute, last_value
from serve.surfaces.site.render import page

_ROUTE: Final = "/api/v1/rapprochement"
_CANDIDATES: Final = 3
_NUMBER: Final = re.compile(r"[1-9]\d{0,4}", re.ASCII)
# The key of a line is the number of its row.
COLUMN_FIELDS: Final = tuple(field for field in line_list.FIELDS if field != "cle")
_HEADED: Final = {"": None, "oui": True, "non": False}
_COLUMN: Final = re.compile(r"colonne_(0|[1-9]\d{0,2})", re.ASCII)
# What a form may ask for: a list, or what was understood of it, in pieces.
_PAGE, _READING = "page", "lecture"
_OUTPUTS: Final = (_PAGE, _READING)
# Lines of a visitor's list that are kept, with those in error.
_VISITOR_ROWS: Final = 50
# Bytes that the answer to a line takes at most, beside its cells.
_ANSWER_BYTES: Final = 512
# Errors that are shown above the form.
_SHOWN: Final = (400, 409, 413)
_NOTHING: Final = {"table": None, "pieces": None, "error": ""}


class _ListPiece(NamedTuple):
    """Rows of a list as a list of their own."""

    rows: int
    text: str


async def show(request: PageRequest) -> Response:
    """The form, with what the plan allows today, or with a list of one's own to match in another way (`liste`).

    Raises:
        ApiError: 404, 429, 503.
        StoreUnavailable
    """
    code = last_value(request.trace.pairs, "liste")  # those of the request have no codes
    if not code:
        return await _page(request)
    opened = await stored_lists.open_list(request, code)
    if stored_lists.needs_log_in(request, opened):
        return render.see_other("/connexion?suite=/rapprochement")
    lines = await stored_lists.lines_without_companies(request, opened, range(opened.head.lines))
    text, table = await loop_guard.parse(
        opened.head.size + 1, partial(_table_again, opened.table, lines)
    )
    return await _page(request, table=table, listed=text)


async def match(request: PageRequest) -> Response:
    """A redirect to the list with its verdicts, or what is wrong with it.

    Raises:
        ApiError: 404, 429, 503.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    try:
        return await _answer(request)
    except ApiError as error:
        if error.status not in _SHOWN and error.code != "quota_api":
            raise
        return await _page(request, error=request.t(*error.texts), status=error.status)


async def _answer(request: PageRequest) -> Response:
    """The response to a form. Raises ApiError as `match`, and 400, 413, 429 `quota_api`."""
    form = request.form
    output = form.get("sortie") or _PAGE
    if output not in _OUTPUTS:
        known = ", ".join(_OUTPUTS)
        raise errors.invalid_parameter(
            "sortie", "inconnu_admis", shown=repr(output[:50]), known=known
        )
    first = form.get("debut") or "1"
    if not _NUMBER.fullmatch(first):
        raise errors.invalid_parameter(
            "debut", "autre_type", shown=repr(first[:20]), wanted=errors.text("rang")
        )
    chosen, is_headed = chosen_fields(form), _is_headed(form)
    shown = ""
    if xlsx_file.is_workbook(request.file):  # a small one may be a long list
        request, shown = await loop_guard.parse(list_file.LARGEST, partial(_as_csv, request))
    sent = _sent(request)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        table = await loop_guard.parse(sent, partial(_read, request, chosen, is_headed))
        if shown or form.get("debut"):  # a piece is written anew, whatever its file was
            table = table._replace(encoding=shown)
        try:
            return await _answer_to_table(request, generation, table, output, int(first))
        finally:
            await loop_guard.parse(sent, table.free)


async def _answer_to_table(
    request: PageRequest, generation: OpenGeneration, table: ListFile, output: str, first: int
) -> Response:
    """The response to a list that was read, whose rows are a piece that begins with row `first`."""
    sent = _sent(request)
    try:
        _check_distinct(chosen_fields(request.form))
        list_file.check_columns(table)
        opened = await _list_to_continue(request, first)
        await _check_room(request, table, is_new=opened is None)
    except ApiError as error:
        if error.status not in _SHOWN:
            raise
        return await _page(request, table=table, error=request.t(*error.texts), status=error.status)
    if output == _READING:
        return await _page(request, table=table, pieces=await _pieces(request, table))
    country = request.form.get("pays", "")
    asked = await loop_guard.parse(
        sent, partial(list_file.lines, table, generation.names, _CANDIDATES, country)
    )
    kept = len(asked.lines) if request.session else _rows_of_visitor(asked)
    matched, outcome = await _match(request, asked)
    part = await loop_guard.parse(
        sent,
        partial(
            stored_lists.encode_lines,
            table.rows[:kept], matched.resultats[:kept], asked.lines[:kept],
        ),
    )  # fmt: skip
    if opened:
        code, account = opened.code, opened.head.account
        try:
            await request.store.submit(
                lists.append, opened.head.id, account, first - 1, part, seconds(request.now)
            )
        except UnknownError as error:  # it was deleted meanwhile
            raise ApiError("liste_introuvable") from error
        except NotAllowedError as error:  # another form has continued it meanwhile
            raise ApiError("liste_suite", line=first, lines=opened.head.lines) from error
        return render.see_other(f"{list_page.PATH}{code}")._replace(outcome=outcome)
    own = stored_lists.encode_table(table, len(table.rows) - kept)
    return await _keep(request, own, part, outcome)


def chosen_fields(form: Mapping[str, str]) -> dict[int, str] | None:
    """The field of each column by its place, "" for none; None where nobody chose.

    Raises:
        ApiError: 400: a field that no line has.
    """
    if not form.get("colonnes"):
        return None
    fields: dict[int, str] = {}
    for name, value in form.items():
        place = _COLUMN.fullmatch(name)
        if place and value and value not in COLUMN_FIELDS:
            known, shown = ", ".join(COLUMN_FIELDS), repr(value[:50])
            raise errors.invalid_parameter(name, "champ_inconnu_admis", shown=shown, known=known)
        if place:
            fields[int(place[1])] = value
    return fields


def _is_headed(form: Mapping[str, str]) -> bool | None:
    """Whether the first row of the list has headings; None where nobody chose.

    Raises:
        ApiError: 400: another word than `oui` and `non`.
    """
    given = form.get("titres", "") if form.get("colonnes") else ""
    if given not in _HEADED:
        raise errors.invalid_parameter(
            "titres", "inconnu_admis", shown=repr(given[:50]), known="oui, non"
        )
    return _HEADED[given]


def _check_distinct(chosen: Mapping[int, str] | None) -> None:
    """Raise ApiError 400 if two columns are to be one field."""
    seen: dict[str, int] = {}
    for place, field in sorted((chosen or {}).items()):
        if field and (other := seen.setdefault(field, place)) != place:
            raise errors.invalid_parameter(
                f"colonne_{place}", "colonne_double", field=field, other=other + 1
            )


async def _list_to_continue(request: PageRequest, first: int) -> OpenList | None:
    """The list to which a form adds lines from row `first` on; None for a list that begins.

    Raises:
        ApiError: 404: the list is of another account; 409: these are not its next lines.
        StoreUnavailable
    """
    code = request.form.get("liste", "")
    if not code:
        return None
    opened = await stored_lists.open_list(request, code)
    if request.session is None or not opened.head.account:
        raise ApiError("liste_introuvable")
    try:
        lists.check_next(opened.head, first - 1)
    except NotAllowedError as error:
        raise ApiError("liste_suite", line=first, lines=opened.head.lines) from error
    return opened


async def _check_room(request: PageRequest, table: ListFile, *, is_new: bool) -> None:
    """Check that the account may keep the list, before anything is counted.

    Raises:
        ApiError: 409.
        StoreUnavailable
    """
    if request.session is None:
        return
    lines = len(table.rows)
    wanted = lists.ListSize(int(is_new), lines, _sent(request) + _ANSWER_BYTES * lines)
    try:
        account = request.session.account.id
        await request.store.read(lists.check_room, account, wanted, seconds(request.now))
    except NotAllowedError as error:
        raise _lists_are_full() from error


def _lists_are_full() -> ApiError:
    """The account has as many lists as it may keep."""
    return ApiError(
        "listes_pleines",
        lists=lists.LISTS_MOST,
        lines=lists.LINES_MOST,
        size=lists.BYTES_MOST >> 20,
    )


def _rows_of_visitor(asked: LineList) -> int:
    """How many rows of a visitor's list are kept: up to the last one that is matched."""
    left = VISITOR_LINES
    for place, line in enumerate(asked.lines):
        left -= line.line is not None
        if left < 0 or place == _VISITOR_ROWS:
            return place
    return len(asked.lines)


async def _keep(request: PageRequest, own: bytes, part: ListPart, outcome: str) -> Response:
    """Keep a new list, and lead to it. Without the store that of a visitor is shown once (G9).

    Raises:
        ApiError: 409, 413: it may not be kept.
        StoreUnavailable: an account's list is not kept, or `maybe_done`.
    """
    account = request.session.account.id if request.session else ""
    name = _name(request)
    head, code = new_list(account, name, request.now)
    try:
        await request.store.submit(lists.create, head, own, part)
    except NotAllowedError as error:
        if account:
            raise _lists_are_full() from error
        raise ApiError("liste_trop_grande", size=lists.VISITOR_BYTES >> 10) from error
    except StoreUnavailable:
        if account:
            raise
        opened = stored_lists.unstored(name, own, part, request.now)
        return await list_page.show_opened(request, opened)
    return render.see_other(f"{list_page.PATH}{code}")._replace(outcome=outcome)


def _name(request: PageRequest) -> str:
    """The name of a new list: that of its file, or its day."""
    name, _, ending = request.form.get("fichier", "").rpartition(".")
    if text := " ".join((name or ending).split()):
        return text
    day = formatting.formats_of(request.lang).day(request.now.date().isoformat())
    return request.t(f"Liste du {day}", f"List of {day}")


def _table_again(own: ListTable, lines: Sequence[StoredLine]) -> tuple[str, ListFile]:
    """A list as it was sent, and how it was read."""
    rows = [line.cells for line in lines]
    text = list_file.write(own.headings if own.is_headed else (), rows, own.separator or ";")
    table = ListFile(
        own.encoding,
        own.separator,
        tuple(own.headings),
        own.is_headed,
        rows,
        own.columns,
        own.blank,
    )
    return text, table


def _as_csv(request: PageRequest) -> tuple[PageRequest, str]:
    """The request with the first sheet of its workbook as CSV, and the name of the sheet.

    Raises:
        ApiError: 400, 413.
    """
    _check_size(request)
    content, shown = xlsx_file.read(request.file)
    form = {**request.form, "encodage": "UTF-8", "separateur": xlsx_file.SEPARATOR}
    return replace(request, file=content, form=form), shown


def _check_size(request: PageRequest) -> None:
    """Raise ApiError 413 if the file of a form is too large."""
    if len(request.file) > list_file.LARGEST:
        raise ApiError("corps_trop_grand", limit=list_file.LARGEST)


def _read(
    request: PageRequest, chosen: Mapping[int, str] | None, is_headed: bool | None
) -> ListFile:
    """The list of a form: its file, or the text in it."""
    form = request.form
    text, file = form.get("texte", ""), request.file
    if text.strip() and file:
        raise ApiError("corps_invalide", "fichier_et_texte")
    _check_size(request)
    separator = {"tab": "\t"}.get(given := form.get("separateur", ""), given)
    if file:
        return list_file.read(file, form.get("encodage", ""), separator, chosen, is_headed)
    return list_file.read(text.encode(), "UTF-8", separator, chosen, is_headed)


async def _match(request: PageRequest, asked: LineList) -> tuple[Rapprochement, str]:
    """The answers to lines, and what happened to the counters."""

    def prepare(given: Request, generation: OpenGeneration) -> PreparedCall[Rapprochement]:
        return rapprochement(asked, given, generation)

    call = request.ask(_ROUTE, ())
    await admission.admit_caller(call)
    result = await admission.perform(call, prepare)
    assert result.content is not None  # without If-None-Match there is no 304
    return result.content, result.outcome


async def _pieces(request: PageRequest, table: ListFile) -> list[_ListPiece]:
    """The lines that the plan allows today, as lists of at most 1 000 lines."""
    rows = table.rows[: await _lines_left(request)]
    parts = [rows[first : first + MOST_LINES] for first in range(0, len(rows), MOST_LINES)]
    return await loop_guard.parse(
        _sent(request),
        lambda: [
            _ListPiece(len(part), list_file.write(table.own_headings, part)) for part in parts
        ],
    )


async def _lines_left(request: PageRequest) -> int:
    """The lines that the caller may have matched today; of one list, for a visitor."""
    session = request.session
    if session is None:
        return VISITOR_LINES
    usage = await request.store.usage(session.account.id, request.caller.plan, request.now)
    return max(0, usage.calls.limit - usage.calls.used) * LINES_PER_CALL


def _sent(request: PageRequest) -> int:
    """Bytes of the list of a form, nearly."""
    return len(request.file) + len(request.form.get("texte", ""))


async def _list_text(request: PageRequest, table: ListFile | None) -> str:
    """The text of the form: as it was sent, or that of a file, which no browser sends twice."""
    if table and request.file and request.form.get("sortie") != _READING:
        separator = table.separator or ";"
        return await loop_guard.parse(
            _sent(request), partial(list_file.write, table.own_headings, table.rows, separator)
        )
    return request.form.get("texte", "")


async def _page(
    request: PageRequest, *, status: int = 200, outcome: str = "", **values: Any
) -> Response:
    shown = _NOTHING | {"listed": await _list_text(request, values.get("table"))} | values
    if table := shown["table"]:
        headings = stored_lists.shown_headings(request, table)
        shown["table"] = table._replace(headings=headings)
    with request.server.published.lease() as generation:
        return page(
            request, "matching.html",
            status=status,
            headers={"Cache-Control": "no-store"},
            outcome=outcome,
            names=formatting.labels(request, generation.reference),
            countries=generation.names.pays,
            encodings=list(encodings.CHOICES),
            line_fields=COLUMN_FIELDS,
            most=list_file.MOST_ROWS,
            most_bytes=list_file.LARGEST,
            most_at_once=MOST_LINES,
            per_call=LINES_PER_CALL,
            left=await _lines_left(request),
            **shown,
        )  # fmt: skip


PAGES: Final = (
    WebRoute(
        "/rapprochement", "liste", show, match,
        remembers=True, file=list_file.LARGEST, fields=FIELDS + list_file.MOST_COLUMNS,
        menu=Text("Ma liste", "My list"), below="/listes/", place=20,
    ),
    WebRoute(
        "/listes/{code}", "liste-gardee", list_page.show, list_page.change,
        remembers=True, parameters=("verdict", "page"), secret=True, example="/listes/x",
    ),
)  # fmt: skip
