"""The tool of changes: what happened to companies, or to what a search finds."""

from dataclasses import replace
from typing import Any, Final

import orjson

from serve.access import admission
from serve.access.call import PreparedCall, Request
from serve.contract.answers import activities_of
from serve.contract.declaration import members
from serve.contract.parameters import IDS, Parameter
from serve.features.changes.answers import ModificationsSuivies, ModificationSuivie
from serve.features.changes.modifications import CURSEUR, DEPUIS
from serve.features.changes.watch import WatchResult, prepare_watch
from serve.generation.open_generation import OpenGeneration
from serve.request import values
from serve.request.reader import Pairs
from serve.surfaces.mcp import arguments, results
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import Tool

SINCE: Final = replace(DEPUIS, text="tool-depuis")

WATCHED_IDS: Final = replace(IDS, text="tool-suivies")

WATCHED_SEARCH: Final = Parameter("recherche", "{}", "object", text="tool-recherche")

ARGUMENTS: Final = (SINCE, WATCHED_IDS, WATCHED_SEARCH, arguments.ROWS, CURSEUR)

_CHANGE: Final = results.answer_schema(
    ModificationSuivie,
    champs={**results.OBJECT, "description": "Each changed field: [before, after]."},
    cause={"description": "Why it entered or left: creee, supprimee, or the fields."},
)

CHANGES: Final = results.answer_schema(
    ModificationsSuivies,
    "depuis",
    "total",
    "plan",
    jusque={**results.TEXT, "description": "The next `depuis`, after the last page."},
    visibles={**results.COUNT, "description": "Changes that the plan shows."},
    modifications=results.array_of(_CHANGE),
    suivant={**results.TEXT, "description": "The `curseur` of the next page."},
    ids_inconnus=results.ABOUT_SEARCH["ids_inconnus"],
    activites_comprises=results.ABOUT_SEARCH["activites_comprises"],
    further=results.NOTE,
)

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
    return results.of_result(result, _page_of_changes(result.content))


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


def _page_of_changes(result: WatchResult) -> dict[str, Any]:
    """The changes of a page that fit into an answer; `suivant` leads to the one after them."""

    def document(changes: list[Any]) -> dict[str, Any]:
        following = result._replace(changes=changes).suivant
        return {
            "depuis": result.watch.since,
            "jusque": result.jusque,
            "total": result.total,
            "visibles": result.shown,
            "plan": result.request.caller.plan.slug,
            "modifications": changes,
            **({"suivant": following} if following else {}),
            **results.unknown_part(result.unknown or ()),
            **results.understood_part(activities_of(result.activites)),
        }

    changes = [results.shorten_to_fit(members(one), _LARGEST_CHANGE) for one in result.changes]
    shown = document(results.longest_fitting(changes, document))
    if result.shown < result.total:
        shown["note"] = f"The plan shows {result.shown} of {result.total} changes of a search."
    return shown


TOOLS: Final = (Tool("changes", changes, CHANGES, ARGUMENTS, ("depuis",), place=150),)
