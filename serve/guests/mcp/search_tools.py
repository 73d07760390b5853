"""The tools that search: how many companies match, which, as a market, and what changed, as the routes say it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from quota.plans import Plan
from serve.access import admission
from serve.access.call import CallResult, PreparedCall, Request
from serve.access.envelope import SearchResult
from serve.api.changes.watch import WatchResult, prepare_watch
from serve.api.societes import societes
from serve.contract.objects.common import Activite, activities_of
from serve.contract.objects.declaration import AbsentKey, members, plain_value
from serve.contract.objects.markets import AnalyseMarche
from serve.contract.objects.search import Effectifs, Repartition
from serve.contract.parameters import LIMIT, OFFSET, TRI, Q
from serve.generation.open_generation import OpenGeneration
from serve.guests.mcp import arguments, outputs, results, sizes
from serve.guests.mcp.arguments import WATCHED_IDS, WATCHED_SEARCH
from serve.guests.mcp.results import ToolCall, ToolResult
from serve.request import values
from serve.request.query_string import Pairs

_NOTHING_FOUND: Final = "Nothing matches all of it."
_NO_SUCH_TEXT: Final = (
    " q is found as it stands in the name, without regard to case and accents (no synonyms, no "
    "typing errors): try a shorter piece, or one distinctive word."
)
_LEAVE_OUT_FILTERS: Final = (
    " Leave out a filter; a bound on turnover or headcount leaves out companies that publish none."
)


_FEWER_COUNTRIES: Final = "Not every ratio fits; ask for fewer countries."

# Items of `ids_inconnus` that are shown.
_MOST_UNKNOWN: Final = 50
# Classes of `activites_comprises` that are shown.
_MOST_CLASSES: Final = 20
# Bytes that a change may take, so that one at least fits into an answer.
_LARGEST_CHANGE: Final = 32 * 1024


async def search(call: ToolCall) -> ToolResult:
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
            **_understood_part(activities_of(answer.activites)),
        }

    companies = [_compact(company) for company in answer.companies()]
    rows = sizes.longest_fitting(companies, document)
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


async def count(call: ToolCall) -> ToolResult:
    """The exact total alone."""
    result, found = await _search(call, lambda pairs: [*pairs, ("limit", "1")])
    shown = {"total": found.total, "plan": found.caller.plan.slug}
    shown |= (
        _missing_part(found) | _understood_part(activities_of(found.activites)) | _meant_part(found)
    )
    shown |= {} if found.total else {"note": _advice(call)}
    return results.of_result(result, shown)


async def changes(call: ToolCall) -> ToolResult:
    """A page of what happened to companies, or to what a search finds."""
    context, trace = call.context, call.trace
    admitted = await admission.admit(context, call.authorization, trace)
    admission.require_account(admitted)

    def prepare(request: Request, generation: OpenGeneration) -> PreparedCall[WatchResult]:
        raw = _watch_body(arguments.clamp_limit(request.pairs))
        return prepare_watch(request._replace(pairs=()), generation, raw)

    result = await admission.perform(context, admitted, prepare, call.call, trace)
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
            "depuis": result.watch.walk.depuis,
            "jusque": result.jusque,
            "total": result.total,
            "visibles": result.shown,
            "plan": result.request.caller.plan.slug,
            "modifications": changes,
            **({"suivant": following} if following else {}),
            **_unknown_part(result.unknown or ()),
            **_understood_part(activities_of(result.activites)),
        }

    changes = [sizes.shorten_to_fit(members(one), _LARGEST_CHANGE) for one in result.changes]
    shown = document(sizes.longest_fitting(changes, document))
    if result.shown < result.total:
        shown["note"] = f"The plan shows {result.shown} of {result.total} changes of a search."
    return shown


def counts(_call: ToolCall, result: CallResult[Repartition]) -> Mapping[str, Any]:
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
        said = {**members(content), **_understood_part(content.activites_comprises)}
        return {**said, "repartitions": counts, "autres": others}

    shown = sizes.longest_fitting(entries, document)
    if len(shown) == len(entries):
        return document(shown)
    note = "Not every value fits; ask for fewer dimensions at a time, or a smaller `limite`."
    return {**document(shown), "note": note}


def market(_call: ToolCall, result: CallResult[AnalyseMarche]) -> Mapping[str, Any]:
    """The analysis of a market, as far as it fits: ratios without formulas."""
    analysis = sizes.known_values(plain_value(result.content))
    unknown = _unknown_part(analysis.get("ids_inconnus", ()))
    about = {
        name: value for name, value in analysis.items() if name not in ("module", "ids_inconnus")
    }
    about |= unknown | results.credits(result.headers)
    if result.content is not None:
        about |= _understood_part(result.content.activites_comprises)

    def document(ratios: list[Any]) -> dict[str, Any]:
        return {**about, "ratios": ratios}

    ratios = [
        {name: one[name] for name in ("code", "libelle_en", "unite", "pays")}
        for one in analysis["ratios"]
        if one["pays"]
    ]
    shown = sizes.longest_fitting(ratios, document)
    note = {"note": _FEWER_COUNTRIES} if len(shown) < len(ratios) else {}
    return {**document(shown), **note}


def _value_count(value_count: Effectifs) -> dict[str, Any]:
    """A value, with its English label if that says more."""
    label = (
        {}
        if value_count.libelle_en == value_count.valeur
        else {"libelle_en": value_count.libelle_en}
    )
    return {"valeur": value_count.valeur, **label, "n": value_count.n}


async def _search(
    call: ToolCall, adapt: Callable[[Pairs], Pairs]
) -> tuple[CallResult[SearchResult], SearchResult]:
    """The result of the route for the arguments, once `adapt` has changed them."""
    context, trace = call.context, call.trace
    admitted = await admission.admit(context, call.authorization, trace)
    adapted = call.call._replace(read=lambda: adapt(call.call.read()))
    result = await admission.perform(context, admitted, societes, adapted, trace)
    assert result.content is not None  # without If-None-Match there is no 304
    return result, result.content


def _missing_part(result: SearchResult) -> dict[str, Any]:
    """What the search names and the base lacks: countries without companies, items of `ids`."""
    empty = {"pays_sans_donnees": list(result.sans_donnees)} if result.sans_donnees else {}
    return empty | _unknown_part(result.ids_inconnus or ())


def _unknown_part(items: Sequence[str]) -> dict[str, Any]:
    """Items of `ids` that name no company, if there are some."""
    return {"ids_inconnus": sizes.shorten(items, _MOST_UNKNOWN)} if items else {}


def _understood_part(classes: Sequence[Activite] | AbsentKey) -> dict[str, Any]:
    """The classes that words name, if there are some."""
    some = () if isinstance(classes, AbsentKey) else classes[:_MOST_CLASSES]
    shown = [results.pick(one, ("nace", "libelle_en")) for one in some]
    return {"activites_comprises": shown} if shown else {}


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
    return sizes.known_values({name: company[name] for name in outputs.COMPACT})


def _advice(call: ToolCall) -> str:
    """Advice for a search without a company, by the arguments that it has."""
    given = {name for name, text in call.call.read() if text.strip()}
    text = _NO_SUCH_TEXT if Q.name in given else ""
    filters = given - {Q.name, TRI.name, LIMIT.name, OFFSET.name}
    return f"{_NOTHING_FOUND}{text}{_LEAVE_OUT_FILTERS if filters else ''}"


def _note(call: ToolCall, result: SearchResult, rows: int, following: Plan | None) -> str:
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
