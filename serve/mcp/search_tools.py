"""The tools that search: how many companies match, and which. The search is that of the route."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from quota.plans import Plan
from serve.access import admission
from serve.access.caller import Caller
from serve.access.result import Response
from serve.api.societes import societes
from serve.mcp import arguments, outputs, results, sizes
from serve.mcp.results import Result, Use
from serve.request.params import Pairs

_SHAPES: Final = ("total", "visibles", "limit", "offset", "plan")


async def search(use: Use) -> Result:
    """A page of compact rows, with the exact total."""
    call = use.call

    def read() -> Pairs:
        return arguments.bounded(call.read())

    answer, known = await _searched(use._replace(call=call._replace(read=read)))
    found = orjson.loads(answer.body)

    def document(rows: list[Any]) -> dict[str, Any]:
        return {**{name: found[name] for name in _SHAPES}, "societes": rows}

    whole = [_compact(one) for one in found["societes"]]
    rows = sizes.most(whole, document)
    shown = document(rows)
    after = found["offset"] + len(rows)
    if rows and after < found["visibles"] and not found["apercu"]:
        shown["offset_suivant"] = after
    if note := _note(found, use.site.plans[known.plan.suivant] if known.plan.suivant else None):
        shown["note"] = note
    return results.of_answer(answer, found, shown)


async def count(use: Use) -> Result:
    """The exact total alone."""
    call = use.call

    def read() -> Pairs:
        return [*call.read(), ("limit", "1")]

    answer, _ = await _searched(use._replace(call=call._replace(read=read)))
    found = orjson.loads(answer.body)
    shown = {"total": found["total"], "plan": found["plan"]}
    shown |= {} if found["total"] else {"note": _NOTHING}
    return results.of_answer(answer, found, shown)


async def _searched(use: Use) -> tuple[Response, Caller]:
    known = await admission.caller(use.site, use.authorization, use.trace)
    return await admission.worked(use.site, societes, use.call, known, use.trace), known


def _compact(company: dict[str, Any]) -> dict[str, Any]:
    return sizes.known({name: company[name] for name in outputs.COMPACT})


_NOTHING: Final = (
    "Nothing matches all of it. q is found as it stands in the name, without regard to case and "
    "accents (no synonyms, no typing errors): try a shorter piece, or one distinctive word. Else "
    "leave out a filter; a bound on turnover or headcount leaves out companies that publish none."
)


def _note(found: Mapping[str, Any], following: Plan | None) -> str:
    if not found["total"]:
        return _NOTHING
    if not found["societes"] and found["offset"]:
        return f"The offset is past the {found['visibles']} companies that can be paged through."
    if not found["tronque"]:
        return ""
    more = (
        f"; the next plan, {following.nom_en} ({following.slug}), shows "
        f"{following.resultats_par_recherche}"
        if following
        else ""
    )
    return (
        f"The plan shows {found['visibles']} of {found['total']} companies{more}. The total is "
        "exact; narrow the search or change `tri` to see others."
    )
