"""Tools that search: how many companies match, which, and by which values; completions of a text."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from quota.plans import Plan
from serve.access import admission
from serve.access.call import Request, Result
from serve.contract.company_answers import Recherche
from serve.contract.parameters import LIMIT, OFFSET, TRI, Q
from serve.features.search.societes import societes
from serve.request.reader import Pairs
from serve.surfaces.mcp import arguments, results, tool_list
from serve.surfaces.mcp.pruning import ToolObject
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import OperationTool, Tool

_OF_THE_PLAN: Final = (
    "plafond_resultats", "tronque", "restantes", "coordonnees", "apercu", "libelle"
)  # fmt: skip
SEARCH: Final = ToolObject(Recherche, _OF_THE_PLAN)
COUNT: Final = ToolObject(
    Recherche, (*_OF_THE_PLAN, "limit", "offset", "visibles", "societes", "noms_trouves")
)

_NOTHING_FOUND: Final = "Nothing matches all of it."

_NO_SUCH_TEXT: Final = (
    " q is found as it stands in the name, without regard to case and accents (no synonyms, no "
    "typing errors): try a shorter piece, or one distinctive word."
)

_LEAVE_OUT_FILTERS: Final = (
    " Leave out a filter; a bound on turnover or headcount leaves out companies that publish none."
)


async def search(call: Request) -> ToolResult:
    """A page of compact rows, with the exact total."""
    result, answer = await _search(call, arguments.clamp_limit)
    document = {
        **SEARCH.document(answer, call.context.product),
        "generation": call.trace.generation,
    }
    companies = document["societes"]
    rows = results.longest_fitting(companies, lambda some: {**document, "societes": some})
    shown = {**document, "societes": rows}
    after = document["offset"] + len(rows)
    if rows and after < answer.visibles and not answer.apercu:
        shown["offset_suivant"] = after
    if named := document.get("noms_trouves"):
        keys = {f"{row['iso2']}:{row['id']}" for row in rows}
        shown["noms_trouves"] = {key: name for key, name in named.items() if key in keys}
    following = call.caller.plan.suivant
    plan = call.context.plans[following] if following else None
    if note := _note(call, answer, len(companies), plan):
        shown["note"] = note
    return results.tool_result(result, shown)


async def count(call: Request) -> ToolResult:
    """The exact total alone."""
    result, answer = await _search(call, lambda pairs: [*pairs, ("limit", "1")])
    note = {} if answer.total else {"note": _advice(call)}
    return results.tool_result(result, COUNT.document(answer, call.context.product) | note)


def counts(_call: Request, answer: dict[str, Any]) -> dict[str, Any]:
    """The counts by dimension, as many values as fit; the others are in `autres`."""
    entries = [
        (name, _value_count(entry))
        for name, counted in answer["repartitions"].items()
        for entry in counted
    ]

    def document(shown: list[Any]) -> dict[str, Any]:
        counted: dict[str, list[Any]] = {name: [] for name in answer["repartitions"]}
        for name, entry in shown:
            counted[name].append(entry)
        left = {name: answer["total"] - sum(one["n"] for one in counted[name]) for name in counted}
        others = {name: n for name, n in left.items() if n}
        return {**answer, "repartitions": counted, "autres": others}

    shown = results.longest_fitting(entries, document)
    if len(shown) == len(entries):
        return document(shown)
    note = "Not every value fits; ask for fewer dimensions at a time, or a smaller `limite`."
    return {**document(shown), "note": note}


def _value_count(entry: dict[str, Any]) -> dict[str, Any]:
    """A value, with its English label if that says more."""
    says_more = entry["libelle_en"] != entry["valeur"]
    return entry if says_more else {"valeur": entry["valeur"], "n": entry["n"]}


async def _search(
    call: Request, adapt: Callable[[Pairs], Pairs]
) -> tuple[Result[Recherche], Recherche]:
    """The result of the route for the arguments, once `adapt` has changed them."""
    await admission.admit(call)
    adapted = replace(call, read=lambda: adapt(call.pairs))
    result = await admission.perform(adapted, societes)
    assert result.content is not None  # without If-None-Match there is no 304
    return result, result.content


def _advice(call: Request) -> str:
    """Advice for a search without a company, by the arguments that it has."""
    given = {name for name, text in call.pairs if text.strip()}
    text = _NO_SUCH_TEXT if Q.name in given else ""
    filters = given - {Q.name, TRI.name, LIMIT.name, OFFSET.name}
    return f"{_NOTHING_FOUND}{text}{_LEAVE_OUT_FILTERS if filters else ''}"


def _note(call: Request, result: Recherche, rows: int, following: Plan | None) -> str:
    """Advice on what to do next, or ""."""
    if not result.total:
        return _advice(call)
    if not rows and int(result.offset):
        return f"The offset is past the {result.visibles} companies that can be paged through."
    if not result.tronque:
        return ""
    more = (
        f"; the next plan, {following.nom_en} ({following.slug}), shows "
        f"{following.resultats_par_recherche}"
        if following
        else ""
    )
    return (
        f"The plan shows {result.visibles} of {result.total} companies{more}. The total is "
        "exact; narrow the search or change `tri` to see others."
    )


TOOLS: Final = (
    Tool(
        "count_companies",
        count,
        COUNT,
        tool_list.NOTE,
        arguments.SCOPE,
        place=50,
        quotes=False,
    ),
    OperationTool("suggest", without=("q", "secteur", "libelle"), place=60, quotes=False),
    OperationTool(
        "break_down_companies", without=("libelle",), nulls=("valeur",), adapt=counts, place=70
    ),
    Tool(
        "search_companies",
        search,
        SEARCH,
        {
            "generation": {"type": "string", "description": "The `depuis` of changes, later."},
            "offset_suivant": {"type": "integer", "description": "The offset of the next page."},
            **tool_list.NOTE,
        },
        arguments.SEARCH,
        brief=False,
        figures={"most_rows": arguments.MOST_ROWS},
        place=90,
    ),
)
