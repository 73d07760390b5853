"""The tool of changes: what happened to companies, or to what a search finds."""

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
from serve.surfaces.mcp import arguments, results, tool_list
from serve.surfaces.mcp.pruning import ToolObject
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import Tool

SINCE: Final = replace(DEPUIS, text="tool-depuis")

WATCHED_IDS: Final = replace(IDS, text="tool-suivies")

WATCHED_SEARCH: Final = Parameter("recherche", "{}", "object", text="tool-recherche")

ARGUMENTS: Final = (SINCE, WATCHED_IDS, WATCHED_SEARCH, arguments.ROWS, CURSEUR)

CHANGES: Final = ToolObject(
    ModificationsSuivies,
    (
        "generation", "limit", "plafond_resultats", "tronque", "restantes", "plafond_atteint",
        "libelle",
    ),
)  # fmt: skip

# Bytes that a change may take, so that one at least fits into an answer.
_LARGEST_CHANGE: Final = 32 * 1024


async def changes(call: Request) -> ToolResult:
    """A page of what happened to companies, or to what a search finds."""
    await admission.admit(call)
    admission.require_account(call)

    def prepare(request: Request, generation: OpenGeneration) -> PreparedCall[WatchResult]:
        raw = _watch_body(arguments.clamp_limit(request.pairs))
        return prepare_watch(replace(request, body=raw), generation)

    result = await admission.perform(call, prepare)
    assert result.content is not None  # there is no tag, and so no 304
    return results.tool_result(result, _page_of_changes(result.content, call.context.product))


def _watch_body(pairs: Pairs) -> bytes:
    """The body of POST /api/v1/modifications."""
    given: dict[str, list[str]] = {}
    for name, text in pairs:
        given.setdefault(name, []).append(text)
    ids, search = given.pop(WATCHED_IDS.name, None), given.pop(WATCHED_SEARCH.name, None)
    body: dict[str, Any] = {name: texts[0] for name, texts in given.items()}
    if ids is not None:
        body[WATCHED_IDS.name] = values.items(ids, WATCHED_IDS)
    if search is not None:
        body[WATCHED_SEARCH.name] = orjson.Fragment(search[0])
    return orjson.dumps(body)


def _page_of_changes(result: WatchResult, product: Product) -> dict[str, Any]:
    """The changes of a page that fit into an answer; `suivant` leads to the one after them."""
    page = CHANGES.document(result, product)
    changes = [results.shorten_to_fit(one, _LARGEST_CHANGE) for one in page["modifications"]]
    rows = results.longest_fitting(changes, lambda some: {**page, "modifications": some})
    following = result._replace(changes=result.changes[: len(rows)]).suivant
    shown = {**page, "modifications": rows, **({"suivant": following} if following else {})}
    if result.shown < result.total:
        shown["note"] = f"The plan shows {result.shown} of {result.total} changes of a search."
    return shown


TOOLS: Final = (
    Tool("changes", changes, CHANGES, tool_list.NOTE, ARGUMENTS, ("depuis",), place=150),
)
