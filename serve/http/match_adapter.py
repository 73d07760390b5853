"""The HTTP side of `/api/v1/rapprochement`: its body. What the lines mean is in serve/api/matching/rapprochement.py."""

from serve.access import admission
from serve.access.result import Content, PreparedCall, Request, Response
from serve.api.matching.rapprochement import rapprochement
from serve.generation.open_generation import OpenGeneration
from serve.http import body_reader
from serve.http.http_request import HttpRequest
from serve.request import line_list


async def respond(request: HttpRequest) -> Response:
    """The companies that the lines of a body mean, for accounts and visitors.

    Raises:
        ApiError: 400, 409, 413, 415, 429, 503.
        StoreUnavailable: nothing was counted.
    """
    context, trace = request.context, request.trace
    admitted = await admission.admit(context, request.authorization, trace)
    raw = await body_reader.json_body(request.message, request.target.query, line_list.LARGEST)

    def prepare(given: Request, generation: OpenGeneration) -> PreparedCall[Content]:
        asked = line_list.read(raw, generation.names)
        return rapprochement(asked, given, generation, request.lang).encoded()

    call = request.call()._replace(read=tuple, if_none_match=None)
    result = await admission.perform(context, admitted, prepare, call, trace)
    return result.response(request.lang)
