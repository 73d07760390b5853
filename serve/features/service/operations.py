"""The operations of the service.

/healthz: the process is alive. /readyz: it has data to answer from, and counters for accounts (contract G10).
Both must answer while nothing is published, so they read the status of the generations and no generation.
"""

from typing import Final

from serve.access.call import NO_STORE, Response, of_error
from serve.contract import errors
from serve.contract.feature import Feature, Operation
from serve.features.service import answers
from serve.generation.current_generation import GenerationStatus


def healthz(_status: GenerationStatus, _store_opened: bool, _lang: str) -> Response:
    """200 whenever the process can answer."""
    return Response(200, answers.Vivant(statut="vivant").json(), NO_STORE)


def readyz(status: GenerationStatus, store_opened: bool, lang: str) -> Response:
    """200 as long as anything is served and, after a start, is in memory; names a generation that is refused.

    Args:
        store_opened: the store was opened since the start. A later failure of it is no reason to turn visitors away.
    """
    if status.generation is None:
        return of_error(errors.indisponible(errors.NO_GENERATION), lang)
    if not store_opened:
        return of_error(errors.indisponible(errors.STORE_CLOSED), lang)
    if status.is_reading:
        return of_error(errors.indisponible(errors.READING), lang)
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
