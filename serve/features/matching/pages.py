"""/rapprochement: a form takes a list, matches it and stores it at its own address (extensions X5).

The list is pasted or sent as a file. It is matched and counted as by `POST /api/v1/rapprochement`, up to 1 000 lines a
form, and the response redirects to `/listes/{code}` (`list_page`). Without a script, the form sends the whole list.
With the script (assets/match.js), the server first reads the list (`sortie=lecture`) and returns it in pieces; the
script then sends each piece, which is appended to the list. An Excel workbook is read as the CSV of its first visible
sheet.

Above each column is a choice of fields: `colonne_0`, `colonne_1`, … in the form; `titres` is the choice for the first
row. Both are read only if `colonnes` is set, which means that the visitor chose.
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

_ROUTE: Final = "/api/v1/rapprochement"  # the route of the API that matches lists
_CANDIDATES: Final = 3  # the most candidates of a line
_ROW_NUMBER: Final = re.compile(r"[1-9]\d{0,4}", re.ASCII)
# The key of a line is the number of its row.
COLUMN_FIELDS: Final = tuple(field for field in line_list.FIELDS if field != "cle")
# Whether the first row has headings, by the values of `titres`; None to detect it.
_HEADED_VALUES: Final = {"": None, "oui": True, "non": False}
# The name of the field of the form that chooses the field of a column, and the place of the column.
_COLUMN: Final = re.compile(r"colonne_(0|[1-9]\d{0,2})", re.ASCII)
# The values of `sortie`: match the list and lead to its page, or only read it and return it in pieces.
_MATCH_LIST, _READ_ONLY = "page", "lecture"
_OUTPUTS: Final = (_MATCH_LIST, _READ_ONLY)
# The most rows of a visitor's list that are stored, including rows with an error.
_VISITOR_ROWS: Final = 50
# Bytes reserved for the answer to a line, in addition to its cells.
_ANSWER_BYTES: Final = 512
# Statuses of errors that are shown above the form.
_SHOWN_STATUSES: Final = (400, 409, 413)
# The values of the template for a form without a list.
_EMPTY_FORM: Final = {"table": None, "pieces": None, "error": ""}


class _ListPiece(NamedTuple):
    """Some rows of a list: their number, and their text as CSV with the headings."""

    rows: int
    text: str


async def show(request: PageRequest) -> Response:
    """Show the form with the number of lines left today; with `liste`, it contains this stored list, to match it again.

    Raises:
        ApiError: 404, 429, 503.
        StoreUnavailable
    """
    code = last_value(request.trace.pairs, "liste")  # `request.pairs` has no codes of lists
    if not code:
        return await _form_page(request)
    opened = await stored_lists.open_stored_list(request, code)
    if stored_lists.needs_log_in(request, opened):
        return render.see_other("/connexion?suite=/rapprochement")
    lines = await stored_lists.lines_without_companies(request, opened, range(opened.head.lines))
    text, table = await loop_guard.parse(
        opened.head.size, partial(_rebuild_table, opened.table, lines)
    )
    return await _form_page(request, table=table, listed=text)


async def match(request: PageRequest) -> Response:
    """Match a list and redirect to its page, or show its error.

    Raises:
        ApiError: 404, 429, 503.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    try:
        return await _process_form(request)
    except ApiError as error:
        if error.status not in _SHOWN_STATUSES and error.code != "quota_api":
            raise
        return await _form_page(request, error=request.t(*error.texts), status=error.status)


async def _process_form(request: PageRequest) -> Response:
    """The response to the form with a list. Raises ApiError as `match`, and 400, 413, 429 `quota_api`.

    The list is read here (the first sheet of a workbook becomes CSV), then processed as the field `sortie` says.
    """
    form = request.form
    output = form.get("sortie") or _MATCH_LIST
    if output not in _OUTPUTS:
        raise errors.invalid_parameter(
            "sortie", "inconnu_admis", shown=repr(output[:50]), known=", ".join(_OUTPUTS)
        )
    first_row = form.get("debut") or "1"
    if not _ROW_NUMBER.fullmatch(first_row):
        raise errors.invalid_parameter(
            "debut", "autre_type", shown=repr(first_row[:20]), wanted=errors.text("rang")
        )
    chosen_columns, is_headed = chosen_fields(form), _is_headed(form)
    sheet = ""
    # A small workbook can be a long list, so the cost of reading it is estimated as that of the largest list.
    if xlsx_file.is_workbook(request.file):
        request, sheet = await loop_guard.parse(
            list_file.LARGEST, partial(_convert_to_csv, request)
        )
    form_bytes = _form_size(request)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        table = await loop_guard.parse(
            form_bytes, partial(_read_list, request, chosen_columns, is_headed)
        )
        # A sheet or a piece is sent as UTF-8, which says nothing about the visitor's file, so the name of the sheet, if
        # there is one, takes the place of the encoding.
        if sheet or form.get("debut"):
            table = table._replace(encoding=sheet)
        try:
            return await _process_table(request, generation, table, output, int(first_row))
        finally:
            await loop_guard.parse(form_bytes, table.free)


async def _process_table(
    request: PageRequest, generation: OpenGeneration, table: ListFile, output: str, first: int
) -> Response:
    """Match the rows of a list that was read and store them; the response leads to the stored list.

    The rows are those from row `first` of the whole list, because a long list is sent in several pieces; the lines of a
    later piece are appended to the stored list. The form is shown again with the error if the list is refused, and
    without a match if `output` requests only the reading.
    """
    form_bytes = _form_size(request)
    try:
        _check_distinct(chosen_fields(request.form))
        list_file.check_columns(table)
        opened = await _list_to_continue(request, first)
        await _check_room(request, table, is_new=opened is None)
    except ApiError as error:
        if error.status not in _SHOWN_STATUSES:
            raise
        return await _form_page(
            request, table=table, error=request.t(*error.texts), status=error.status
        )
    if output == _READ_ONLY:
        return await _form_page(request, table=table, pieces=await _pieces(request, table))
    country = request.form.get("pays", "")
    batch = await loop_guard.parse(
        form_bytes, partial(list_file.lines, table, generation.names, _CANDIDATES, country)
    )
    count = len(batch.lines) if request.session else _rows_of_visitor(batch)
    matched, outcome = await _match(request, batch)
    list_part = await loop_guard.parse(
        form_bytes,
        partial(
            stored_lists.encode_lines,
            table.rows[:count], matched.resultats[:count], batch.lines[:count],
        ),
    )  # fmt: skip
    if opened:
        code, account = opened.code, opened.head.account
        try:
            await request.store.submit(
                lists.append, opened.head.id, account, first - 1, list_part, seconds(request.now)
            )
        except UnknownError as error:  # it was deleted meanwhile
            raise ApiError("liste_introuvable") from error
        except NotAllowedError as error:  # another form appended lines meanwhile
            raise ApiError("liste_suite", line=first, lines=opened.head.lines) from error
        return render.see_other(f"{list_page.PATH}{code}")._replace(outcome=outcome)
    encoded_table = stored_lists.encode_table(table, len(table.rows) - count)
    return await _store_list(request, encoded_table, list_part, outcome)


def chosen_fields(form: Mapping[str, str]) -> dict[int, str] | None:
    """Read the field chosen for each column by its place, "" for no field; None if the visitor did not choose.

    Raises:
        ApiError: 400: an unknown field.
    """
    if not form.get("colonnes"):
        return None
    fields: dict[int, str] = {}
    for name, value in form.items():
        place = _COLUMN.fullmatch(name)
        if place and value and value not in COLUMN_FIELDS:
            raise errors.invalid_parameter(
                name, "champ_inconnu_admis", shown=repr(value[:50]), known=", ".join(COLUMN_FIELDS)
            )
        if place:
            fields[int(place[1])] = value
    return fields


def _is_headed(form: Mapping[str, str]) -> bool | None:
    """Whether the first row of the list has headings; None if the visitor did not choose.

    Raises:
        ApiError: 400: a value other than `oui` and `non`.
    """
    value = form.get("titres", "") if form.get("colonnes") else ""
    if value not in _HEADED_VALUES:
        raise errors.invalid_parameter(
            "titres", "inconnu_admis", shown=repr(value[:50]), known="oui, non"
        )
    return _HEADED_VALUES[value]


def _check_distinct(chosen: Mapping[int, str] | None) -> None:
    """Raise ApiError 400 if two columns have the same field."""
    place_by_field: dict[str, int] = {}
    for place, field in sorted((chosen or {}).items()):
        if field and (first_place := place_by_field.setdefault(field, place)) != place:
            raise errors.invalid_parameter(
                f"colonne_{place}", "colonne_double", field=field, other=first_place + 1
            )


async def _list_to_continue(request: PageRequest, first: int) -> OpenList | None:
    """The list to which a form appends lines from row `first`; None for a new list.

    Raises:
        ApiError: 404: the list does not exist or is not of this account; 409: row `first` is not the next row.
        StoreUnavailable
    """
    code = request.form.get("liste", "")
    if not code:
        return None
    opened = await stored_lists.open_stored_list(request, code)
    if request.session is None or not opened.head.account:
        raise ApiError("liste_introuvable")
    try:
        lists.check_follows(opened.head, first - 1)
    except NotAllowedError as error:
        raise ApiError("liste_suite", line=first, lines=opened.head.lines) from error
    return opened


async def _check_room(request: PageRequest, table: ListFile, *, is_new: bool) -> None:
    """Check that the account has room for the list, before anything is counted.

    Raises:
        ApiError: 409.
        StoreUnavailable
    """
    if request.session is None:
        return
    lines = len(table.rows)
    size = lists.ListSize(int(is_new), lines, _form_size(request) + _ANSWER_BYTES * lines)
    try:
        account = request.session.account.id
        await request.store.read(lists.check_room, account, size, seconds(request.now))
    except NotAllowedError as error:
        raise _lists_are_full() from error


def _lists_are_full() -> ApiError:
    """The error of an account without room for more lists."""
    return ApiError(
        "listes_pleines",
        lists=lists.LISTS_MOST,
        lines=lists.LINES_MOST,
        size=lists.BYTES_MOST >> 20,
    )


def _rows_of_visitor(batch: LineList) -> int:
    """The rows of a visitor's list to store: at most _VISITOR_ROWS, with at most VISITOR_LINES readable lines."""
    lines_left = VISITOR_LINES
    for place, line in enumerate(batch.lines):
        lines_left -= line.line is not None
        if lines_left < 0 or place == _VISITOR_ROWS:
            return place
    return len(batch.lines)


async def _store_list(
    request: PageRequest, encoded_table: bytes, list_part: ListPart, outcome: str
) -> Response:
    """Store a new list and redirect to it. If the store is down, the list of a visitor is shown once (G9).

    Raises:
        ApiError: 409, 413: the list is too large, or there is no room for it.
        StoreUnavailable: the list of an account is not stored, or `maybe_done`.
    """
    account = request.session.account.id if request.session else ""
    name = _list_name(request)
    head, code = new_list(account, name, request.now)
    try:
        await request.store.submit(lists.create, head, encoded_table, list_part)
    except NotAllowedError as error:
        if account:
            raise _lists_are_full() from error
        raise ApiError("liste_trop_grande", size=lists.VISITOR_BYTES >> 10) from error
    except StoreUnavailable:
        if account:
            raise
        opened = stored_lists.temporary_list(name, encoded_table, list_part, request.now)
        return await list_page.show_opened(request, opened)
    return render.see_other(f"{list_page.PATH}{code}")._replace(outcome=outcome)


def _list_name(request: PageRequest) -> str:
    """The name of a new list: the name of its file, or its date."""
    # A name without a point is in `ending`.
    name, _, ending = request.form.get("fichier", "").rpartition(".")
    if text := " ".join((name or ending).split()):
        return text
    day = formatting.formats_of(request.lang).day(request.now.date().isoformat())
    return request.t(f"Liste du {day}", f"List of {day}")


def _rebuild_table(list_table: ListTable, lines: Sequence[StoredLine]) -> tuple[str, ListFile]:
    """The text of a stored list as CSV, and its table, which the form shows again for another match."""
    rows = [line.cells for line in lines]
    text = list_file.write(
        list_table.headings if list_table.is_headed else (), rows, list_table.separator or ";"
    )
    table = ListFile(
        list_table.encoding,
        list_table.separator,
        tuple(list_table.headings),
        list_table.is_headed,
        rows,
        list_table.columns,
        list_table.blank,
    )
    return text, table


def _convert_to_csv(request: PageRequest) -> tuple[PageRequest, str]:
    """The request with the first sheet of its workbook as CSV, and the name of the sheet.

    Raises:
        ApiError: 400, 413.
    """
    _check_size(request)
    csv_text, label = xlsx_file.read(request.file)
    form = {**request.form, "encodage": "UTF-8", "separateur": xlsx_file.SEPARATOR}
    return replace(request, file=csv_text, form=form), label


def _check_size(request: PageRequest) -> None:
    """Raise ApiError 413 if the file of a form is too large."""
    if len(request.file) > list_file.LARGEST:
        raise ApiError("corps_trop_grand", limit=list_file.LARGEST)


def _read_list(
    request: PageRequest, chosen: Mapping[int, str] | None, is_headed: bool | None
) -> ListFile:
    """Read the list of a form, from its file or its text. Raises ApiError 400, 413."""
    form = request.form
    text, file = form.get("texte", ""), request.file
    if text.strip() and file:
        raise ApiError("corps_invalide", "fichier_et_texte")
    _check_size(request)
    # The form names a tab `tab`.
    separator = {"tab": "\t"}.get(value := form.get("separateur", ""), value)
    if file:
        return list_file.read(file, form.get("encodage", ""), separator, chosen, is_headed)
    return list_file.read(text.encode(), "UTF-8", separator, chosen, is_headed)


async def _match(request: PageRequest, batch: LineList) -> tuple[Rapprochement, str]:
    """Match lines; return the answers and the outcome for the log."""

    def prepare(request: Request, generation: OpenGeneration) -> PreparedCall[Rapprochement]:
        """Prepare the API's call for these lines."""
        return rapprochement(batch, request, generation)

    call = request.ask(_ROUTE, ())
    await admission.admit_caller(call)
    result = await admission.perform(call, prepare)
    assert result.content is not None  # without If-None-Match there is no 304
    return result.content, result.outcome


async def _pieces(request: PageRequest, table: ListFile) -> list[_ListPiece]:
    """The rows that the plan allows today, in pieces of at most 1 000."""
    rows = table.rows[: await _lines_left(request)]
    pieces = [rows[first : first + MOST_LINES] for first in range(0, len(rows), MOST_LINES)]
    return await loop_guard.parse(
        _form_size(request),
        lambda: [
            _ListPiece(len(piece_rows), list_file.write(table.own_headings, piece_rows))
            for piece_rows in pieces
        ],
    )


async def _lines_left(request: PageRequest) -> int:
    """The lines that the caller can match today; for a visitor, the lines of a list."""
    session = request.session
    if session is None:
        return VISITOR_LINES
    usage = await request.store.usage(session.account.id, request.caller.plan, request.now)
    return max(0, usage.calls.limit - usage.calls.used) * LINES_PER_CALL


def _form_size(request: PageRequest) -> int:
    """The approximate bytes of the list in a form."""
    return len(request.file) + len(request.form.get("texte", ""))


async def _list_text(request: PageRequest, table: ListFile | None) -> str:
    """The text to show in the form: the text sent, or the rows of a file, which a browser does not send again."""
    if table and request.file and request.form.get("sortie") != _READ_ONLY:
        separator = table.separator or ";"
        return await loop_guard.parse(
            _form_size(request), partial(list_file.write, table.own_headings, table.rows, separator)
        )
    return request.form.get("texte", "")


async def _form_page(
    request: PageRequest, *, status: int = 200, outcome: str = "", **values: Any
) -> Response:
    """The page of the form; `values` replace those of `_EMPTY_FORM`."""
    variables = _EMPTY_FORM | {"listed": await _list_text(request, values.get("table"))} | values
    if table := variables["table"]:
        headings = stored_lists.display_headings(request, table)
        variables["table"] = table._replace(headings=headings)
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
            **variables,
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
