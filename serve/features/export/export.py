"""GET and POST /api/v1/export: a file, and what it costs (§4.6, contract D2, F5, X7).

The export is reserved before the work begins, and counted when the file is complete. A failure in
between releases the reservation, and so does a search that finds nothing; if the process is killed,
the next one releases it or, where there is none, it expires. Bytes are sent only after that: anyone
who has paid for a file can have all of it.

Read `respond`, at the end, first; a form of a page begins at `make_export`.
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

LIMIT: Final = Parameter("limit", 100, "integer", minimum=1, column="lines", text="limit-export")
# An export takes a whole scope, not a page of it (§4.6, F2).
PARAMETERS: Final = (*SCOPE, TRI, LIMIT, *FILTERS, LANG, FORMAT, COLONNES, COMPTES, VERSION)

# Longer than any export can take, so that a reservation expires only if its process is gone.
HELD: Final = timedelta(seconds=worker_pool.WAITING + worker_pool.MAKING + 60)
# Characters of parameters that the list of the last exports keeps; those of long lists of companies are more.
_LONGEST_SEARCH: Final = 1_000

# Characters of a header that names companies or classes. A proxy takes 4 KiB for all headers of an answer.
_LONGEST_NAMED: Final = 2_000

# The attributions that the licences of the data demand, for files that have no place for them (X9).
_LICENCES: Final = '</sources>; rel="license"'

# The result of an export whose client left.
_NOTHING_MADE: Final = ExportResult(0, 0, 0)

_log: Final = logging.getLogger("serve.features.export.export")


@dataclass(frozen=True, slots=True)
class Exporter:
    """The parts of the export route.

    Attributes:
        at_once: exports of one organisation at a time (contract D7).
        abandoned: exports that an organisation may leave in an hour before they are made; each other counts.
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
    """The file that a call to the API or a form of a page asks for, counted.

    Args:
        read: reads the parameters when it is their turn; raises ApiError 400, 413, 415.
        accepted: the header Accept, which decides where no format is named.
        own: the list whose companies the file has, and which names the file.

    Raises:
        ApiError: 401 `compte_requis`; 400; 406; 409; 503; those of `export`.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    admission.require_account(request)
    context, trace = request.context, request.trace
    exporter = context.service(Exporter)
    if exporter is None:
        raise errors.not_set_up("exports", context.config.operator_address)
    plan, published = request.caller.plan, context.published
    # The lease lasts until the file is made: the generation is not removed meanwhile.
    with published.lease() as generation:
        trace.generation = generation.id
        trace.pairs = await read()
        generation, asked = generation.read(trace.pairs, PARAMETERS, accepted)
        trace.generation = generation.id
        generation.shards.require(asked.query.pays)
        query, unknown = await company_ids.resolved_query(generation.shards, asked)
        standing = published.status
        assert standing.since  # something is published, for it is leased
        current = generation.id == standing.generation
        wanted = ExportRequest(
            folder=published.data / generation.id,
            published=standing.since if current else generation.written_at,
            query=query,
            ids_inconnus=None if unknown is None else tuple(unknown),
            limit=rights.file_rows(plan, asked.lines),
            lang=asked.lang,
            plan=plan,
            given=tuple(trace.pairs),
            request_id=trace.request_id,
            now=request.now,
            missing=generation.shards.missing,
            file=asked.file,
            own=own,
        )
        return await export(exporter, wanted, request)


async def export(exporter: Exporter, wanted: ExportRequest, request: Request) -> Response:
    """The file that is `wanted`, counted.

    Raises:
        ApiError: 429 `quota_export` or `trop_de_requetes`; 503: the file could not be made.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    reservation = await billing.reserve_export(request, exporter.at_once, HELD)
    exporter.makers.note(reservation.account, reservation.id)
    name = _name(wanted)
    try:
        file = await _make(exporter, wanted, request)
        try:
            listed = _counted_export(request, wanted, file.made, name)
            counted = await billing.count_export(request, reservation, listed, exporter.now())
        except BaseException:
            file.file.close()
            raise
    except ClientGoneError as error:
        _log.info("no file: %s", error, extra={"fields": {"request_id": wanted.request_id}})
        await _end_abandoned(exporter, wanted, reservation, request)
        raise ApiError("indisponible", "sans_fichier") from error
    except BaseException:
        # The release is submitted before it is awaited: it is done even if this task is being
        # cancelled. If it cannot be done, the reservation expires.
        with suppress(StoreUnavailable):
            await billing.release_export(request.store, reservation.account, reservation.id)
            exporter.makers.forget(reservation.account, reservation.id)
        raise
    exporter.makers.forget(reservation.account, reservation.id)
    headers = {
        "Content-Type": wanted.file.media_type,
        "Content-Length": str(file.size),
        "Content-Disposition": attachment(name),
        "Cache-Control": "private, no-store",
        "Vary": "Authorization, Accept",
        "Link": _LICENCES,
        **_figures(file.made, wanted.plan),
        **_named(wanted.ids_inconnus, "X-Export-Ids-Inconnus"),
        **_named(wanted.query.activites or None, "X-Export-Activites"),
        **counted,
    }
    outcome = "taken" if file.made.total else "free"
    return Response(200, b"", headers, outcome, file.file)


async def _make(exporter: Exporter, wanted: ExportRequest, request: Request) -> ExportFile:
    try:
        return await exporter.makers.make(wanted, request.is_gone)
    except MakingError as error:
        fields = {"request_id": wanted.request_id}
        _log.error("no file: %s", error, extra={"fields": fields})
        raise ApiError("indisponible", "sans_fichier") from error


async def _end_abandoned(
    exporter: Exporter, wanted: ExportRequest, reservation: Reservation, request: Request
) -> None:
    """Release an export whose client has left, or count it after several in one hour.

    Each ends a process that makes files, which others then wait for (attack 4, L7).
    """
    now = exporter.now()
    who = f"abandon {reservation.account} {now:%H}"
    with suppress(StoreUnavailable):
        if exporter.limiter.day(who, exporter.abandoned, now.timestamp()).seconds:
            listed = _counted_export(request, wanted, _NOTHING_MADE, _name(wanted))
            await billing.count_abandoned_export(request.store, reservation, listed, now)
        else:
            await billing.release_export(request.store, reservation.account, reservation.id)
        exporter.makers.forget(reservation.account, reservation.id)


def _name(wanted: ExportRequest) -> str:
    day, ending = wanted.now.date(), wanted.file.extension
    if wanted.own:
        return list_name(wanted.own.name, day, ending)
    return file_name(wanted.query, day, ending)


def _counted_export(
    request: Request, wanted: ExportRequest, made: ExportResult, name: str
) -> CountedExport:
    """The export for the list of the last ones: with the parameters that make it again, but its language."""
    # With an account there is one header with a key, or the form of a page.
    key = "" if request.is_page else (rights.token(request.authorization[0]) or "")[-4:]
    search = urlencode(
        [(given, value) for given, value in wanted.given if given not in ("lang", "version")]
    )
    return CountedExport(
        iso(wanted.now),
        wanted.file.format,
        name,
        made.lignes,
        made.total,
        search if len(search) <= _LONGEST_SEARCH else None,
        key,
    )


def _figures(made: ExportResult, plan: Plan) -> Headers:
    """The headers with the contents of the file and their limits under the plan (F1, F7, F13)."""
    return {
        "X-Export-Lignes": str(made.lignes),
        "X-Export-Total": str(made.total),
        "X-Export-Plafond": str(plan.lignes_par_export),
        "X-Export-Comptes": str(made.comptes),
        "X-Export-Comptes-Plafond": str(plan.societes_avec_comptes_par_export),
        "X-Export-Coordonnees": "true" if plan.coordonnees else "false",
    }


def _named(values: Sequence[str] | None, header: str) -> Headers:
    """How many values there are, and the first of them: a table has no place for them (X2, X13).

    >>> _named(["UK:1", "DE:x ü"], "X-Export-Ids-Inconnus")
    {'X-Export-Ids-Inconnus-Total': '2', 'X-Export-Ids-Inconnus': 'UK:1,DE:x%20%C3%BC'}
    """
    if values is None:
        return {}
    total = {f"{header}-Total": str(len(values))}
    names = [quote(one, safe=":") for one in values]
    ends = accumulate(len(name) + len(",") for name in names)
    named = [name for name, end in zip(names, ends, strict=True) if end <= _LONGEST_NAMED + 1]
    return total | ({header: ",".join(named)} if named else {})


async def respond(request: Request) -> Response:
    """The file that a request asks for, for a caller with an account (A3).

    Raises:
        ApiError: 400, 406, 413, 415: the request is invalid; 401, 429, 503: see `make_export`.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    await admission.admit(request, billing.current_exports)
    accepted = request.message.headers.get("Accept")
    return await make_export(request, partial(_pairs, request), accepted)


async def _pairs(request: Request) -> Pairs:
    if request.method != "POST":
        return request.pairs
    raw = await body_reader.json_body(request)
    return await loop_guard.parse(len(raw), partial(json_body.pairs, raw))
