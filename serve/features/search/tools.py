"""Tools that search: how many companies match, which, and by which values; completions of a text."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from quota.plans import Plan
from serve.access import admission
from serve.access.call import Request, Result
from serve.access.envelope import SearchResult
from serve.contract.answers import activities_of
from serve.contract.company_answers import (
    Effectifs,
    Mot,
    Recherche,
    Repartition,
    SecteurSuggere,
    SocieteSuggeree,
    Suggestions,
    VilleSuggeree,
)
from serve.contract.declaration import Schema, members
from serve.contract.parameters import LIMIT, OFFSET, TRI, Q
from serve.features.search.societes import societes
from serve.request.reader import Pairs
from serve.surfaces.mcp import arguments, results
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import OperationTool, Tool

SUGGESTIONS: Final = results.answer_schema(
    Suggestions,
    "societes",
    societes=results.array_of(results.answer_schema(SocieteSuggeree)),
    mots=results.array_of(results.answer_schema(Mot)),
    secteurs=results.array_of(results.answer_schema(SecteurSuggere, "slug", "secteur_en")),
    villes=results.array_of(results.answer_schema(VilleSuggeree, n=results.COMPANY_COUNT)),
    activites=results.array_of(results.OBJECT),
)

COUNT: Final = results.answer_schema(
    Recherche,
    "total",
    "plan",
    total=results.TOTAL,
    **results.ABOUT_SEARCH,
    **results.PROPOSALS,
    further=results.NOTE,
)

BREAKDOWN: Final = results.answer_schema(
    Repartition,
    total=results.TOTAL,
    repartitions={
        **results.OBJECT,
        "description": "By dimension: values as their filter takes them, null for none, with labels and numbers.",
        "additionalProperties": results.array_of(
            results.answer_schema(
                Effectifs,
                "valeur",
                valeur={"type": ["string", "null"]},
                n=results.COMPANY_COUNT,
                further={"libelle_en": results.TEXT},
            )
        ),
    },
    autres={**results.OBJECT, "description": "Companies with values that are not shown."},
    **results.ABOUT_SEARCH,
    further=results.NOTE,
)


@cache
def search_schema() -> Schema:
    """The schema of search_companies."""
    return results.answer_schema(
        Recherche,
        "total",
        "limit",
        "offset",
        "plan",
        total=results.TOTAL,
        visibles={**results.COUNT, "description": "How many of them the plan may page through."},
        generation={**results.TEXT, "description": "The `depuis` of changes, later."},
        societes=results.array_of(results.company_schema(results.COMPACT, described=True)),
        noms_trouves={
            **results.OBJECT,
            "description": "The former name that q found, of each <iso2>:<id> found by it.",
            "additionalProperties": results.TEXT,
        },
        **results.ABOUT_SEARCH_DESCRIBED,
        further={
            "offset_suivant": {**results.COUNT, "description": "The offset of the next page."},
            **results.NOTE,
        },
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

    def document(rows: list[Any]) -> dict[str, Any]:
        return {
            "total": answer.total,
            "visibles": answer.visibles,
            "limit": answer.limit,
            "offset": answer.offset,
            "plan": answer.caller.plan.slug,
            "generation": call.trace.generation,
            "societes": rows,
            **_missing_part(answer),
            **results.understood_part(activities_of(answer.activites)),
        }

    companies = [_compact(company) for company in answer.companies()]
    rows = results.longest_fitting(companies, document)
    shown = document(rows)
    after = answer.offset + len(rows)
    if rows and after < answer.visibles and not answer.apercu:
        shown["offset_suivant"] = after
    shown |= _meant_part(answer)
    if named := _former_names(answer, rows):
        shown["noms_trouves"] = named
    following = answer.caller.plan.suivant
    plan = call.context.plans[following] if following else None
    if note := _note(call, answer, len(companies), plan):
        shown["note"] = note
    return results.of_result(result, shown)


async def count(call: Request) -> ToolResult:
    """The exact total alone."""
    result, found = await _search(call, lambda pairs: [*pairs, ("limit", "1")])
    shown = {"total": found.total, "plan": found.caller.plan.slug}
    shown |= (
        _missing_part(found)
        | results.understood_part(activities_of(found.activites))
        | _meant_part(found)
    )
    shown |= {} if found.total else {"note": _advice(call)}
    return results.of_result(result, shown)


def counts(_call: Request, result: Result[Repartition]) -> Mapping[str, Any]:
    """The counts by dimension, as many values as fit; the others are in `autres`."""
    content = result.content
    assert content is not None  # without If-None-Match there is no 304
    entries = [(name, entry) for name, counted in content.repartitions.items() for entry in counted]

    def document(shown: list[Any]) -> dict[str, Any]:
        counts: dict[str, list[Any]] = {name: [] for name in content.repartitions}
        for name, entry in shown:
            counts[name].append(_value_count(entry))
        left = {name: content.total - sum(entry["n"] for entry in counts[name]) for name in counts}
        others = {name: n for name, n in left.items() if n}
        said = {**members(content), **results.understood_part(content.activites_comprises)}
        return {**said, "repartitions": counts, "autres": others}

    shown = results.longest_fitting(entries, document)
    if len(shown) == len(entries):
        return document(shown)
    note = "Not every value fits; ask for fewer dimensions at a time, or a smaller `limite`."
    return {**document(shown), "note": note}


def suggestions(_call: Request, result: Result[Suggestions]) -> Mapping[str, Any]:
    """Companies, words, sectors, towns and activities that complete a text."""
    found = result.content
    assert found is not None  # without If-None-Match there is no 304
    return {
        "societes": [results.known_values(members(one)) for one in found.societes],
        "mots": [members(one) for one in found.mots],
        "secteurs": [results.pick(one, ("slug", "secteur_en")) for one in found.secteurs],
        "villes": [members(one) for one in found.villes],
        "activites": [results.pick(one, ("nace", "libelle_en", "n")) for one in found.activites],
    }


def _value_count(value_count: Effectifs) -> dict[str, Any]:
    """A value, with its English label if that says more."""
    label = (
        {}
        if value_count.libelle_en == value_count.valeur
        else {"libelle_en": value_count.libelle_en}
    )
    return {"valeur": value_count.valeur, **label, "n": value_count.n}


async def _search(
    call: Request, adapt: Callable[[Pairs], Pairs]
) -> tuple[Result[SearchResult], SearchResult]:
    """The result of the route for the arguments, once `adapt` has changed them."""
    await admission.admit(call)
    adapted = replace(call, read=lambda: adapt(call.pairs))
    result = await admission.perform(adapted, societes)
    assert result.content is not None  # without If-None-Match there is no 304
    return result, result.content


def _missing_part(result: SearchResult) -> dict[str, Any]:
    """What the search names and the base lacks: countries without companies, items of `ids`."""
    empty = {"pays_sans_donnees": list(result.sans_donnees)} if result.sans_donnees else {}
    return empty | results.unknown_part(result.ids_inconnus or ())


def _meant_part(result: SearchResult) -> dict[str, Any]:
    """What `q` may have meant, as texts and as other searches; absent where there is nothing."""
    said = {
        "vouliez_vous_dire": [one._asdict() for one in result.vouliez_vous_dire],
        "recherches_proposees": [one.filters() for one in result.recherches_proposees],
    }
    return {name: value for name, value in said.items() if value}


def _former_names(result: SearchResult, rows: list[Any]) -> dict[str, str]:
    """The former names that found some of these rows."""
    keys = [f"{row['iso2']}:{row['id']}" for row in rows] if result.noms_trouves else []
    return {key: result.noms_trouves[key] for key in keys if key in result.noms_trouves}


def _compact(company: dict[str, Any]) -> dict[str, Any]:
    return results.known_values({name: company[name] for name in results.COMPACT})


def _advice(call: Request) -> str:
    """Advice for a search without a company, by the arguments that it has."""
    given = {name for name, text in call.pairs if text.strip()}
    text = _NO_SUCH_TEXT if Q.name in given else ""
    filters = given - {Q.name, TRI.name, LIMIT.name, OFFSET.name}
    return f"{_NOTHING_FOUND}{text}{_LEAVE_OUT_FILTERS if filters else ''}"


def _note(call: Request, result: SearchResult, rows: int, following: Plan | None) -> str:
    """Advice on what to do next, or ""."""
    if not result.total:
        return _advice(call)
    if not rows and result.offset:
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
    Tool("count_companies", count, COUNT, arguments.SCOPE, place=50, quotes=False),
    OperationTool("suggest", suggestions, SUGGESTIONS, place=60, quotes=False),
    OperationTool("break_down_companies", counts, BREAKDOWN, place=70),
    Tool(
        "search_companies",
        search,
        search_schema,
        arguments.SEARCH,
        brief=False,
        figures={"most_rows": arguments.MOST_ROWS},
        place=90,
    ),
)
