"""The tools that search: total, page of companies, counts by dimension, completions of a text."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from quota.plans import Plan
from serve.access import admission
from serve.access.call import Request, Result
from serve.contract.parameters import LIMIT, OFFSET, TRI, Q
from serve.features.search.answers import Recherche
from serve.features.search.societes import societes
from serve.request.reader import Pairs
from serve.surfaces.mcp import arguments, results
from serve.surfaces.mcp.pruning import ToolObject
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import OperationTool, Tool

# The keys of a search that the tools leave out: those about the plan, and French labels.
_LEFT_OUT: Final = (
    "plafond_resultats", "tronque", "restantes", "coordonnees", "apercu", "libelle"
)  # fmt: skip
# The answers of the tools: a page, and a total alone.
SEARCH: Final = ToolObject(Recherche, _LEFT_OUT)
COUNT: Final = ToolObject(
    Recherche, (*_LEFT_OUT, "limit", "offset", "visibles", "societes", "noms_trouves")
)

# The parts of the advice for a search that matches no company.
_NOTHING_FOUND: Final = "No company matches all arguments."

_NO_SUCH_TEXT: Final = (
    " q must occur in the name as written, without regard to case and accents (synonyms and typing "
    "errors do not match): try a shorter part, or one distinctive word."
)

_LEAVE_OUT_FILTERS: Final = (
    " Leave out a filter; a bound on turnover or headcount excludes companies that publish none."
)


async def search(call: Request) -> ToolResult:
    """A page of companies with few fields, as many as fit, with the exact total."""
    result, answer = await _search(call, arguments.clamp_limit)
    document = {
        **SEARCH.document(answer, call.context.product),
        "generation": call.trace.generation,
    }
    companies = document["societes"]
    next_slug = call.caller.plan.suivant
    next_plan = call.context.plans[next_slug] if next_slug else None
    if note := _note(call, answer, len(companies), next_plan):
        document["note"] = note
    rows = results.longest_fitting(companies, lambda shown: {**document, "societes": shown})
    page = {**document, "societes": rows}
    next_offset = document["offset"] + len(rows)
    if rows and next_offset < answer.visibles and not answer.apercu:
        page["offset_suivant"] = next_offset
    if former_names := document.get("noms_trouves"):  # only those of the rows that fit
        keys = {f"{row['iso2']}:{row['id']}" for row in rows}
        page["noms_trouves"] = {key: name for key, name in former_names.items() if key in keys}
    return results.tool_result(result, page)


async def count(call: Request) -> ToolResult:
    """The exact total of a search, without companies."""
    result, answer = await _search(call, lambda pairs: [*pairs, ("limit", "1")])
    note = {} if answer.total else {"note": _advice(call)}
    return results.tool_result(result, COUNT.document(answer, call.context.product) | note)


def fit_counts(_call: Request, answer: dict[str, Any]) -> dict[str, Any]:
    """The counts by dimension, with as many values as fit; `autres` is the sum of the other values."""
    entries = [
        (name, _value_count(entry))
        for name, counted in answer["repartitions"].items()
        for entry in counted
    ]

    def document(fitting: list[Any]) -> dict[str, Any]:
        """The answer with only these entries: pairs of a dimension and a value with its count."""
        counted: dict[str, list[Any]] = {name: [] for name in answer["repartitions"]}
        for name, entry in fitting:
            counted[name].append(entry)
        others = {
            name: answer["total"] - sum(entry["n"] for entry in counted[name]) for name in counted
        }
        autres = {name: number for name, number in others.items() if number}
        return {**answer, "repartitions": counted, "autres": autres}

    fitting = results.longest_fitting(entries, document)
    if len(fitting) == len(entries):
        return document(fitting)
    note = "Not every value fits; request fewer dimensions at a time, or a smaller `limite`."
    return {**document(fitting), "note": note}


def _value_count(entry: dict[str, Any]) -> dict[str, Any]:
    """A value and its count, with the labels unless the English label is the value itself."""
    has_own_label = entry["libelle_en"] != entry["valeur"]
    return entry if has_own_label else {"valeur": entry["valeur"], "n": entry["n"]}


async def _search(
    call: Request, adapt: Callable[[Pairs], Pairs]
) -> tuple[Result[Recherche], Recherche]:
    """The result of /api/v1/societes for the arguments after `adapt` has changed them."""
    await admission.admit(call)
    adapted = replace(call, read=lambda: adapt(call.pairs))
    result = await admission.perform(adapted, societes)
    assert result.content is not None  # None only in a 304, which needs If-None-Match
    return result, result.content


def _advice(call: Request) -> str:
    """Advice for a search that matches no company, by its arguments."""
    filled = {name for name, text in call.pairs if text.strip()}
    text = _NO_SUCH_TEXT if Q.name in filled else ""
    filters = filled - {Q.name, TRI.name, LIMIT.name, OFFSET.name}
    return f"{_NOTHING_FOUND}{text}{_LEAVE_OUT_FILTERS if filters else ''}"


def _note(call: Request, result: Recherche, rows: int, next_plan: Plan | None) -> str:
    """Advice for the next call after a page with `rows` rows, or ""; `next_plan` is the plan above the caller's."""
    if not result.total:
        return _advice(call)
    if not rows and int(result.offset):
        return f"The offset is past the {result.visibles} companies that can be paged through."
    if not result.tronque:
        return ""
    upgrade = (
        f"; the next plan, {next_plan.nom_en} ({next_plan.slug}), shows "
        f"{next_plan.resultats_par_recherche}"
        if next_plan
        else ""
    )
    return (
        f"The plan shows {result.visibles} of {result.total} companies{upgrade}. The total is "
        "exact; narrow the search or change `tri` to see others."
    )


TOOLS: Final = (
    Tool(
        "count_companies",
        count,
        COUNT,
        arguments=arguments.SCOPE,
        place=50,
        quotes=False,
    ),
    OperationTool("suggest", without=("q", "secteur", "libelle"), place=60, quotes=False),
    OperationTool(
        "break_down_companies", without=("libelle",), nulls=("valeur",), adapt=fit_counts, place=70
    ),
    Tool(
        "search_companies",
        search,
        SEARCH,
        {
            "generation": {
                "type": "string",
                "description": "Send it later as `depuis` to get the changes.",
            },
            "offset_suivant": {"type": "integer", "description": "The offset of the next page."},
        },
        arguments.SEARCH,
        brief=False,
        figures={"most_rows": arguments.MOST_ROWS},
        place=90,
    ),
)
