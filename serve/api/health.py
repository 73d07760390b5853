"""/healthz: the process is alive. /readyz: it has data to answer from (contract G10).

Both answer while nothing is published, so they get what is known of the generations and no edition.
"""

import orjson

from serve.access.result import NO_STORE, Response, of_error
from serve.contract import errors
from serve.data.generation_status import GenerationStatus


def healthz(_standing: GenerationStatus) -> Response:
    return Response(200, b'{"statut":"vivant"}', NO_STORE)


def readyz(standing: GenerationStatus) -> Response:
    """Ready as long as anything is served; a published generation that is refused is named."""
    if standing.generation is None:
        return of_error(errors.indisponible(errors.NO_GENERATION))
    body = {
        "statut": "pret",
        "generation": standing.generation,
        "precedente": standing.previous,
        "refusee": standing.refused,
        "pid": standing.pid,
    }
    return Response(200, orjson.dumps(body), NO_STORE)
