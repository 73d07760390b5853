"""GET and POST /api/v1/export: a file, counted as an export of the month (§4.6, contract D2, F5, X7).

The export is reserved before the work begins, and counted when the file is complete. A failure in between releases the
reservation, and so does an empty scope. If the process is killed, the next process of the host releases the
reservation; without a next process, the reservation expires. The first byte is sent after the export is counted, so a
counted file is complete.

Read `respond`, at the end, first; an export from a form of the website begins at `make_export`.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import accumulate
from typing import Final
from urllib.parse import quote, urlencode

from quota.errors import StoreUnavailable
from quota.ledger.exports import CountedExport, Reservation
from quota.periods import iso
from quota.plans import Plan
from serve.access import admission, billing, loop_guard, rights
from serve.access.burst_gate import Limiter
from serve.access.call import Request, Response
from serve.access.counter_headers import Headers
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.files import OwnList, attachment, file_name, list_name
from serve.contract.parameters import (
    COLONNES,
    COMPTES,
    FILTERS,
    FORMAT,
    LANG,
    SCOPE,
    TRI,
    VERSION,
    Parameter,
)
from serve.features.export import worker_pool
from serve.features.export.workbook.export_data import ExportRequest, ExportResult
from serve.features.export.worker_pool import ClientGoneError, ExportFile, MakingError, WorkerPool
from serve.generation import company_ids
from serve.http import body_reader
from serve.request import json_body
from serve.request.reader import Pairs

# The most rows of the file; in a search, `limit` is the size of a page.
LIMIT: Final = Parameter("limit", 100, "integer", minimum=1, column="lines", text="limit-export")
# An export covers the complete scope, not a page of it (§4.6, F2), so there is no `offset`.
PARAMETERS: Final = (*SCOPE, TRI, LIMIT, *FILTERS, LANG, FORMAT, COLONNES, COMPTES, VERSION)

# Longer than any export can take, so that a reservation expires only if its process is gone.
RESERVATION_TIME: Final = timedelta(
    seconds=worker_pool.WAIT_SECONDS + worker_pool.MAKE_SECONDS + 60
)
# The most characters of parameters that the list of the last exports stores; a long list of companies has more.
_LONGEST_SEARCH: Final = 1_000

# The most characters of a header that names companies or classes. Proxies accept 4 KiB for all headers of a response.
_LONGEST_VALUES: Final = 2_000

# The header `Link` with the page of the attributions that the licences of the data demand, because csv and ndjson have
# no place for attributions (X9).
_LICENCES_LINK: Final = '</sources>; rel="license"'

# The counts (rows, companies in the scope, companies with statements) recorded for an export whose client has left.
_EMPTY_RESULT: Final = ExportResult(0, 0, 0)

_log: Final = logging.getLogger("serve.features.export.export")


@dataclass(frozen=True, slots=True)
class Exporter:
    """The services and limits of the export route.

    Attributes:
        at_once: the most exports that an organisation can run at the same time (contract D7).
        abandoned: exports that an organisation can abandon in an hour for free; each further one is counted.
    """

    makers: WorkerPool
    limiter: Limiter
    at_once: int
    abandoned: int
    now: Callable[[], datetime]


async def make_export(
    request: Request,
    read: Callable[[], Awaitable[Pairs]],
    accepted: str | None = None,
    own: OwnList | None = None,
) -> Response:
    """The file for a call to the API or for a form of a page, counted as an export.

    Args:
        read: reads the parameters, after the account has been checked; raises ApiError 400, 413, 415.
        accepted: the header Accept, which decides the format if no parameter does.
        own: the customer's list whose companies are in the file; it also gives the file its name.

    Raises:
        ApiError: 401 `compte_requis`; 400; 406; 409; 503; those of `export`.
        StoreUnavailable: nothing is counted, or possibly counted if `maybe_done`.
    """
    admission.require_account(request)
    context, trace = request.context, request.trace
    exporter = context.service(Exporter)
    if exporter is None:
        raise errors.not_set_up("exports", context.config.operator_address)
    plan, published = request.caller.plan, context.published
    # The generation is leased until the file is complete, so that it is not removed meanwhile.
    with published.lease() as generation:
        trace.generation = generation.id
        trace.pairs = await read()
        generation, parameters = generation.read(trace.pairs, PARAMETERS, accepted)
        trace.generation = generation.id
        generation.shards.require(parameters.query.pays)
        query, unknown = await company_ids.resolve_query(generation.shards, parameters)
        status = published.status
        assert status.since  # set, because only a published generation can be leased
        is_current = generation.id == status.generation
        export_request = ExportRequest(
            folder=published.data / generation.id,
            published=status.since if is_current else generation.publication_time,
            query=query,
            ids_inconnus=None if unknown is None else tuple(unknown),
            limit=rights.file_rows(plan, parameters.lines),
            lang=parameters.lang,
            plan=plan,
            parameters=tuple(trace.pairs),
            request_id=trace.request_id,
            now=request.now,
            missing=generation.shards.missing,
            file=parameters.file,
            own=own,
        )
        return await export(exporter, export_request, request)


async def export(exporter: Exporter, export_request: ExportRequest, request: Request) -> Response:
    """Reserve an export, make the file, count the export, and return the response with the file.

    Raises:
        ApiError: 429 `quota_export` or `trop_de_requetes`; 503: the file could not be made.
        StoreUnavailable: nothing is counted, or possibly counted if `maybe_done`.
    """
    reservation = await billing.reserve_export(request, exporter.at_once, RESERVATION_TIME)
    exporter.makers.note(reservation.account, reservation.id)
    name = _export_file_name(export_request)
    try:
        file = await _make(exporter, export_request, request)
        try:
            counted_export = _counted_export(request, export_request, file.result, name)
            quota_headers = await billing.count_export(
                request, reservation, counted_export, exporter.now()
            )
        except BaseException:
            file.file.close()
            raise
    except ClientGoneError as error:
        _log.info("no file: %s", error, extra={"fields": {"request_id": export_request.request_id}})
        await _end_abandoned(exporter, export_request, reservation, request)
        raise ApiError("indisponible", "sans_fichier") from error
    except BaseException:
        # The release is submitted before it is awaited, so it takes place even if this task is being cancelled. If it
        # fails, the reservation expires.
        with suppress(StoreUnavailable):
            await billing.release_export(request.store, reservation.account, reservation.id)
            exporter.makers.forget(reservation.account, reservation.id)
        raise
    exporter.makers.forget(reservation.account, reservation.id)
    headers = {
        "Content-Type": export_request.file.media_type,
        "Content-Length": str(file.size),
        "Content-Disposition": attachment(name),
        "Cache-Control": "private, no-store",
        "Vary": "Authorization, Accept",
        "Link": _LICENCES_LINK,
        **_count_headers(file.result, export_request.plan),
        **_value_headers(export_request.ids_inconnus, "X-Export-Ids-Inconnus"),
        **_value_headers(export_request.query.activites or None, "X-Export-Activites"),
        **quota_headers,
    }
    outcome = "taken" if file.result.total else "free"
    return Response(200, b"", headers, outcome, file.file)


async def _make(exporter: Exporter, export_request: ExportRequest, request: Request) -> ExportFile:
    """Make the file. Raises ApiError 503 if it cannot be made, ClientGoneError if the client has left."""
    try:
        return await exporter.makers.make(export_request, request.is_gone)
    except MakingError as error:
        fields = {"request_id": export_request.request_id}
        _log.error("no file: %s", error, extra={"fields": fields})
        raise ApiError("indisponible", "sans_fichier") from error


async def _end_abandoned(
    exporter: Exporter, export_request: ExportRequest, reservation: Reservation, request: Request
) -> None:
    """Release an export whose client has left, or count it if the organisation abandoned several in this hour.

    Each abandoned export kills a worker process, and other exports wait for its replacement (attack 4, L7).
    """
    now = exporter.now()
    # The limiter counts by the day. With the hour in the name of the counter, it counts one hour.
    counter = f"abandon {reservation.account} {now:%H}"
    with suppress(StoreUnavailable):
        if exporter.limiter.day(counter, exporter.abandoned, now.timestamp()).seconds:
            counted_export = _counted_export(
                request, export_request, _EMPTY_RESULT, _export_file_name(export_request)
            )
            await billing.count_abandoned_export(request.store, reservation, counted_export, now)
        else:
            await billing.release_export(request.store, reservation.account, reservation.id)
        exporter.makers.forget(reservation.account, reservation.id)


def _export_file_name(export_request: ExportRequest) -> str:
    """The name of the file: from the customer's list, else from the search."""
    day, ending = export_request.now.date(), export_request.file.extension
    if export_request.own:
        return list_name(export_request.own.name, day, ending)
    return file_name(export_request.query, day, ending)


def _counted_export(
    request: Request, export_request: ExportRequest, result: ExportResult, name: str
) -> CountedExport:
    """The entry for the list of the last exports.

    Its parameters repeat the export, but in the language and with the data of the time when it is repeated.
    """
    # A caller with an account sends the form of a page, or one header with a key, so there is an item 0.
    key = "" if request.is_page else (rights.token(request.authorization[0]) or "")[-4:]
    search = urlencode(
        [
            (parameter, value)
            for parameter, value in export_request.parameters
            if parameter not in ("lang", "version")
        ]
    )
    return CountedExport(
        iso(export_request.now),
        export_request.file.format,
        name,
        result.lignes,
        result.total,
        search if len(search) <= _LONGEST_SEARCH else None,
        key,
    )


def _count_headers(result: ExportResult, plan: Plan) -> Headers:
    """The headers with the counts of the file and the limits of the plan (F1, F7, F13)."""
    return {
        "X-Export-Lignes": str(result.lignes),
        "X-Export-Total": str(result.total),
        "X-Export-Plafond": str(plan.lignes_par_export),
        "X-Export-Comptes": str(result.comptes),
        "X-Export-Comptes-Plafond": str(plan.societes_avec_comptes_par_export),
        "X-Export-Coordonnees": "true" if plan.coordonnees else "false",
    }


def _value_headers(values: Sequence[str] | None, header: str) -> Headers:
    """Headers with the number of `values` and as many of them as fit, since tables have no place for them (X2, X13).

    >>> _value_headers(["UK:1", "DE:x ü"], "X-Export-Ids-Inconnus")
    {'X-Export-Ids-Inconnus-Total': '2', 'X-Export-Ids-Inconnus': 'UK:1,DE:x%20%C3%BC'}
    """
    if values is None:
        return {}
    total = {f"{header}-Total": str(len(values))}
    texts = [quote(value, safe=":") for value in values]
    ends = accumulate(len(text) + len(",") for text in texts)
    # Each end counts a comma after its text, which the last text of the header does not have; hence the 1.
    first_texts = [
        text for text, end in zip(texts, ends, strict=True) if end <= _LONGEST_VALUES + 1
    ]
    return total | ({header: ",".join(first_texts)} if first_texts else {})


async def respond(request: Request) -> Response:
    """The file of a request, for a caller with an account (A3).

    Raises:
        ApiError: 400, 406, 413, 415: the request is invalid; 401, 429, 503: see `make_export`.
        StoreUnavailable: nothing is counted, or possibly counted if `maybe_done`.
    """
    await admission.admit(request, billing.current_exports)
    accepted = request.message.headers.get("Accept")
    return await make_export(request, partial(_read_parameters, request), accepted)


async def _read_parameters(request: Request) -> Pairs:
    """The parameters of the query, or of the JSON body of a POST."""
    if request.method != "POST":
        return request.pairs
    raw = await body_reader.json_body(request)
    return await loop_guard.parse(len(raw), partial(json_body.pairs, raw))
