"""The tool that finds companies by a number: identifier in any spelling, VAT number, SIRET or LEI."""

from serve.access import admission
from serve.access.result import PreparedCall, Request
from serve.api.identifiants import Candidates, identifiants
from serve.contract.parameters import VALEUR
from serve.data.open_generation import OpenGeneration
from serve.mcp import results
from serve.mcp.results import ToolCall, ToolResult


async def look_up(call: ToolCall) -> ToolResult:
    """The companies with a number."""
    context, trace = call.context, call.trace
    admitted = await admission.admit(context, call.authorization, trace)

    def prepare(request: Request, generation: OpenGeneration) -> PreparedCall[Candidates]:
        number = results.first(request.pairs, VALEUR.name)
        return identifiants(request._replace(segments=(number,), pairs=()), generation)

    result = await admission.perform(context, admitted, prepare, call.call, trace)
    if result.content is None:
        return results.of_result(result, None)
    return results.of_result(result, result.content._asdict())
