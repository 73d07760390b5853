"""The tools of the public lists: countries, sectors, sub-sectors. A key changes nothing (A2)."""

from typing import Any, Final

import orjson

from quota.plans import Plan
from serve.access import admission
from serve.access.result import PublicList, Response
from serve.access.rights import VISITOR
from serve.api import lists
from serve.api.compte import compte
from serve.contract import errors
from serve.mcp import results, sizes
from serve.mcp.results import Result, Use


async def countries(use: Use) -> Result:
    answer, found = _listed(use, lists.pays)
    kept = ("iso2", "nom_fr", "nom_en", "n_societes")
    entries = [{name: one[name] for name in kept} for one in found["pays"]]
    return results.of_answer(answer, found, {"total": found["total"], "pays": entries})


async def sectors(use: Use) -> Result:
    answer, found = _listed(use, lists.secteurs)
    kept = ("slug", "secteur_en", "n_societes")
    entries = [{name: one[name] for name in kept} for one in found["secteurs"]]
    return results.of_answer(answer, found, {"total": found["total"], "secteurs": entries})


async def sub_sectors(use: Use) -> Result:
    answer, found = _listed(use, lists.sous_secteurs)

    def document(entries: list[Any]) -> dict[str, Any]:
        return {"total": found["total"], "sous_secteurs": entries}

    entries = sizes.most(found["sous_secteurs"], document)
    if len(entries) == len(found["sous_secteurs"]):
        return results.of_answer(answer, found, document(entries))
    note = f"Only the first {len(entries)} are shown; ask for fewer sectors at a time."
    return results.of_answer(answer, found, {**document(entries), "note": note})


def _listed(use: Use, route: PublicList) -> tuple[Response, Any]:
    answer = admission.listed(use.site, route, use.call, use.trace)
    return answer, orjson.loads(answer.body)


# MERGED serve/mcp/plans.py
# The tool that explains the caller's plan: its limits, what is left, what the next one allows.

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
    known = await admission.caller(site, use.authorization, use.trace)
    left = await admission.passed(site, known, use.trace, now)
    counted = admission.counting(site, known, left, now)
    if counted is None:
        use.call.read()
        shown = _of_visitor(site.plans[VISITOR], left.jour, site.offers[VISITOR])
        if known.refused:
            return results.of_error(errors.cle_invalide(), shown)
        return Result(shown, {}, outcome="free")
    answer = await compte(admission.ask(site, use.call, known), counted)
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
