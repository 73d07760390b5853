"""Routes of the state of the service.

/healthz: the process is alive. /readyz: it has data to answer from, and counters for accounts (contract G10).
Both must answer when nothing is published, so they read the status of the generations and not a generation.
"""

from typing import Final

from serve.access.call import NO_STORE, Request, Response, error_response
from serve.contract.errors import ApiError
from serve.contract.feature import Feature, Operation
from serve.features.service import answers


async def healthz(_request: Request) -> Response:
    """200 whenever the process can answer."""
    return Response(200, answers.Vivant(statut="vivant").json(), NO_STORE)


async def readyz(request: Request) -> Response:
    """200 with the served and the refused generation; 503 before a generation is in memory and the store was opened."""
    status, lang = request.context.published.status, request.lang
    if status.generation is None:
        return error_response(ApiError("indisponible", "sans_generation"), lang)
    # The store must have been opened once; if it fails later, visitors are still served.
    if not request.context.holder.is_open:
        return error_response(ApiError("indisponible", "magasin_ferme"), lang)
    if status.is_reading:
        return error_response(ApiError("indisponible", "en_lecture"), lang)
    answer = answers.Pret(
        statut="pret",
        generation=status.generation,
        precedente=status.previous,
        refusee=status.refused,
        pays_manquants=status.missing,
        pid=status.pid,
    )
    return Response(200, answer.json(), NO_STORE)


FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "checkAlive", "/healthz", "healthz", "check", "Service", healthz, answers.Vivant,
            place=340,
        ),
        Operation(
            "checkReady", "/readyz", "readyz", "check", "Service", readyz, answers.Pret,
            place=350, refusals=[503],
        ),
        Operation(
            "readMetrics", "/metrics", "metrics", "metrics", "Service", place=360, media=["text/plain"]
        ),
    ),
)  # fmt: skip
