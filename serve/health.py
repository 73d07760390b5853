"""/healthz: the process is alive. /readyz: it has data to answer from (contract G10).

Both answer while nothing is published, so they get the name of the generation and not an edition.
"""

import orjson

from serve import errors
from serve.answer import NO_STORE, Answer, of_error


def healthz(_generation: str | None) -> Answer:
    return Answer(200, b'{"statut":"vivant"}', NO_STORE)


def readyz(generation: str | None) -> Answer:
    """`generation`: the one that is being served, or None."""
    if generation is None:
        return of_error(errors.indisponible(errors.NO_GENERATION))
    body = orjson.dumps({"statut": "pret", "generation": generation})
    return Answer(200, body, NO_STORE)
