"""The tool that explains the caller's plan: its limits, what is left, what the next one allows."""

from typing import Any, Final

import orjson

from quota.plans import Plan
from serve import doors, errors
from serve.compte import compte
from serve.mcp import results
from serve.mcp.results import Result, Use
from serve.rights import VISITOR

# The figures of a plan that a visitor is told; an account is told those of GET /api/v1/compte.
_LIMITS: Final = (
    "resultats_par_recherche", "lignes_par_appel", "coordonnees", "etats_financiers",
)  # fmt: skip
_VISITOR: Final = (
    "Without a key: the first companies of every search, with its exact total. A free account has "
    "more, and financial statements; its key is sent as `Authorization: Bearer …`."
)


async def explain(use: Use) -> Result:
    """Free and not metered, like the route (D15); a visitor is told a visitor's plan."""
    site, now = use.site, use.site.now()
    known = await doors.caller(site, use.authorization, use.trace)
    left = await doors.passed(site, known, use.trace, now)
    counted = doors.counting(site, known, left, now)
    if counted is None:
        use.call.read()
        shown = _of_visitor(site.plans[VISITOR], left.jour, site.offers[VISITOR])
        if known.refused:
            return results.of_error(errors.cle_invalide(), shown)
        return Result(shown, {}, outcome="free")
    answer = await compte(doors.ask(site, use.call, known), counted)
    found = orjson.loads(answer.body)
    shown = {
        "plan": found["plan"],
        "nom": known.plan.nom,
        "limites": found["limites"],
        **{kind: _meter(meter) for kind, meter in found["compteurs"].items()},
        "credits": found["credits"],
        **_offer(found["offre_suivante"]),
    }
    if known.souscrit is not None:
        shown["plan_souscrit"] = known.souscrit
        shown["note"] = "The plan that is paid for needs the API tool; until then it is `free`."
    return results.of_answer(answer, found, shown)


def _of_visitor(plan: Plan, left: int, offer: bytes) -> dict[str, Any]:
    limits = {name: getattr(plan, name) for name in _LIMITS}
    return {
        "plan": plan.slug,
        "nom": plan.nom,
        "limites": {**limits, "appels_restants_aujourd_hui": left},
        **_offer(orjson.loads(offer)),
        "note": _VISITOR,
    }


def _offer(following: dict[str, Any] | None) -> dict[str, Any]:
    return {} if following is None else {"offre_suivante": following}


def _meter(meter: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in meter.items() if name != "type"}
