"""The answer to a key that is not valid: status 401 around what a visitor gets (contract A1).

The key is checked before the parameters (D5), so the status is 401 whatever else is wrong; what
else is wrong is told in the same body, for nothing is ignored silently.
"""

from collections.abc import Mapping
from typing import Final

from serve import envelope, errors
from serve.answer import NO_STORE, Answer
from serve.errors import ApiError

# Of the visitor's answer these stay; a tag or a place to find it again would not be true of a 401.
_KEPT: Final = (
    "X-Plafond-Resultats", "X-Quota-Limit", "X-Quota-Used", "X-Quota-Reset", "RateLimit",
    "RateLimit-Policy",
)  # fmt: skip


def around(answer: Answer) -> Answer:
    """The visitor's complete answer, refused."""
    refusal = errors.cle_invalide()
    body = envelope.with_erreur(answer.body, refusal.erreur)
    return Answer(refusal.status, body, NO_STORE | _kept(answer.headers) | refusal.headers)


def instead_of(error: ApiError) -> ApiError:
    """The refusal where a visitor would have got `error`, which it tells as well."""
    refusal = errors.cle_invalide()
    message = f"{refusal.message}. De plus : {error.message}"
    headers = _kept(error.headers) | refusal.headers
    return ApiError(refusal.code, message, headers=headers, **error.extra)


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in _KEPT if name in headers}
