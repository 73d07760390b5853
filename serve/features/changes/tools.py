"""The tool `changes`: changes of given companies, or of the companies that a search finds."""

from dataclasses import replace
from typing import Any, Final

import orjson

from serve.access import admission
from serve.access.call import PreparedCall, Request
from serve.contract.feature import Product
from serve.contract.parameters import IDS, Parameter
from serve.features.changes.answers import ModificationsSuivies
from serve.features.changes.modifications import CURSEUR, DEPUIS
from serve.features.changes.watch import WatchResult, prepare_watch
from serve.generation.open_generation import OpenGeneration
from serve.request import values
from serve.request.reader import Pairs
from serve.surfaces.mcp import arguments, results
from serve.surfaces.mcp.pruning import ToolObject
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import Tool

# The arguments of the tool: parameters of the route with texts for a language model.
SINCE: Final = replace(DEPUIS, text="tool-depuis")

WATCHED_IDS: Final = replace(IDS, text="tool-suivies")

WATCHED_SEARCH: Final = Parameter("recherche", "{}", "object", text="tool-recherche")

ARGUMENTS: Final = (SINCE, WATCHED_IDS, WATCHED_SEARCH, arguments.ROWS, CURSEUR)

# A page of changes for an assistant, without the keys that only a program needs.
CHANGES: Final = ToolObject(
    ModificationsSuivies,
    (
        "generation", "limit", "plafond_resultats", "tronque", "restantes", "plafond_atteint",
        "libelle",
    ),
)  # fmt: skip

# The most bytes of a change, so that at least one fits into an answer.
_LARGEST_CHANGE: Final = 32 * 1024


async def changes(call: Request) -> ToolResult:
    """A page of changes of given companies, or of the companies that a search finds, with as many as fit."""
    await admission.admit(call)
    admission.require_account(call)

    def prepare(request: Request, generation: OpenGeneration) -> PreparedCall[WatchResult]:
        """Prepare the API's call, with the arguments of the tool as its body."""
        body = _watch_body(arguments.clamp_limit(request.pairs))
        return prepare_watch(replace(request, body=body), generation)

    result = await admission.perform(call, prepare)
    assert result.content is not None  # without a tag there is no 304
    return results.tool_result(result, _page_of_changes(result.content, call.context.product))


def _watch_body(pairs: Pairs) -> bytes:
    """The arguments of the tool as a body of POST /api/v1/modifications."""
    texts_by_name: dict[str, list[str]] = {}
    for name, text in pairs:
        texts_by_name.setdefault(name, []).append(text)
    ids, search = (
        texts_by_name.pop(WATCHED_IDS.name, None),
        texts_by_name.pop(WATCHED_SEARCH.name, None),
    )
    body: dict[str, Any] = {name: texts[0] for name, texts in texts_by_name.items()}
    if ids is not None:
        body[WATCHED_IDS.name] = values.items(ids, WATCHED_IDS)
    if search is not None:
        body[WATCHED_SEARCH.name] = orjson.Fragment(search[0])
    return orjson.dumps(body)


def _page_of_changes(result: WatchResult, product: Product) -> dict[str, Any]:
    """The changes of a page that fit into an answer; `suivant` continues after the last change that fits."""
    page = CHANGES.document(result, product)
    changes = [results.shorten_to_fit(change, _LARGEST_CHANGE) for change in page["modifications"]]
    rows = results.longest_fitting(
        changes, lambda fitting_changes: {**page, "modifications": fitting_changes}
    )
    next_cursor = result._replace(changes=result.changes[: len(rows)]).suivant
    content = {**page, "modifications": rows, **({"suivant": next_cursor} if next_cursor else {})}
    if result.shown < result.total:
        content["note"] = f"The plan shows {result.shown} of {result.total} changes of a search."
    return content


TOOLS: Final = (
    Tool("changes", changes, CHANGES, arguments=ARGUMENTS, required=("depuis",), place=150),
)
