"""The HTTP side of `/api/v1/rapprochement`: its body. What the lines mean is in serve/api/rapprochement.py."""

from serve.access import admission
from serve.access.result import Content, PreparedCall, Request, Response
from serve.api.rapprochement import rapprochement
from serve.contract import errors
from serve.data.open_generation import OpenGeneration
from serve.http import body_reader
from serve.http.http_request import HttpRequest
from serve.request import json_body, line_list


async def respond(request: HttpRequest) -> Response:
    """The companies that the lines of a body mean, for accounts and visitors.

    Raises:
        ApiError: 400, 409, 413, 415, 429, 503.
        StoreUnavailable: nothing was counted.
    """
    context, trace, headers = request.context, request.trace, request.message.headers
    admitted = await admission.admit(context, request.authorization, trace)
    if request.target.query:
        why = "les paramètres d'un POST sont dans son corps, en JSON"
        raise errors.parametre_invalide("chaîne de requête", why)
    json_body.check_kind(headers.get("Content-Type"), headers.get("Content-Encoding"))
    raw = await body_reader.body(request.message, line_list.LARGEST)

    def prepare(given: Request, generation: OpenGeneration) -> PreparedCall[Content]:
        asked = line_list.read(raw, generation.names)
        return rapprochement(asked, given, generation).encoded()

    result = await admission.perform(context, admitted, prepare, request.call(), trace)
    return result.response()
