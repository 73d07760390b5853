"""The tool of a plan: its limits, what is left, and what the next plan allows."""

from typing import Any, Final

from serve.access import admission, rights
from serve.access.call import Request
from serve.access.rights import VISITOR
from serve.contract.answers import Quota
from serve.contract.declaration import Schema, members, names_of
from serve.contract.errors import ApiError
from serve.features.account.answers import Compteurs
from serve.features.account.operations import compte
from serve.request import reader
from serve.surfaces.mcp import results, tool_list
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import Tool

# The figures of a plan that a visitor sees; an account sees those of GET /api/v1/compte.
_VISITOR_LIMITS: Final = (
    "resultats_par_recherche", "lignes_par_appel", "coordonnees", "etats_financiers",
)  # fmt: skip

_VISITOR_NOTE: Final = (
    "Without a key: the first companies of every search, with its exact total. A free account has "
    "more, and financial statements; its key is sent as `Authorization: Bearer …`."
)

_TEXT: Final[Schema] = {"type": "string"}
_OBJECT: Final[Schema] = {"type": "object"}
_COUNT: Final[Schema] = {"type": "integer"}
_METER: Final[Schema] = {
    "type": "object",
    "properties": {
        "limite": _COUNT,
        "utilise": _COUNT,
        "restant": _COUNT,
        "reinitialisation": _TEXT,
    },
}
PLAN: Final[Schema] = {
    "type": "object",
    "properties": {
        "plan": _TEXT,
        "nom": _TEXT,
        "limites": _OBJECT,
        "plan_souscrit": {
            **_TEXT,
            "description": "Paid for, where the API tool is missing to it.",
        },
        **{name: _METER for name in names_of(Compteurs)},
        "credits": _OBJECT,
        "offre_suivante": {**_OBJECT, "description": "The next plan; absent on the highest."},
    },
    "required": ["plan", "limites", "nom"],
    "additionalProperties": False,
}


async def explain(call: Request) -> ToolResult:
    """Free and not metered, like the route (D15); a visitor gets the plan of a visitor."""
    await admission.admit(call)
    caller = call.caller
    if caller.account is None:
        reader.refuse_parameters(call.pairs)
        shown = _visitor_document(call)
        if caller.refused:
            return results.refusal_result(ApiError("cle_invalide"), shown)
        return ToolResult(shown, {}, outcome="free")
    result = await compte(call)
    assert result.content is not None  # /compte is never a 304
    account = result.content
    shown = {
        "plan": account.plan,
        "nom": caller.plan.nom,
        "limites": members(account.limites),
        **{kind: _meter(meter) for kind, meter in members(account.compteurs).items()},
        "credits": members(account.credits),
        **_offer(call),
    }
    if caller.souscrit is not None:
        shown["plan_souscrit"] = caller.souscrit
        shown["note"] = "The plan that is paid for needs the API tool; until then it is `free`."
    return results.tool_result(result, shown)


def _visitor_document(call: Request) -> dict[str, Any]:
    plan = call.context.plans[VISITOR]
    limits = {name: getattr(plan, name) for name in _VISITOR_LIMITS}
    return {
        "plan": plan.slug,
        "nom": plan.nom,
        "limites": {**limits, "appels_restants_aujourd_hui": call.left.jour},
        **_offer(call),
        "note": _VISITOR_NOTE,
    }


def _offer(call: Request) -> dict[str, Any]:
    """The plan that is proposed next; absent for the highest."""
    offer = rights.offer(call.caller.plan, call.context.plans)
    return {} if offer is None else {"offre_suivante": members(offer)}


def _meter(meter: Quota) -> dict[str, Any]:
    return {name: value for name, value in members(meter).items() if name != "type"}


TOOLS: Final = (Tool("explain_plan", explain, PLAN, tool_list.NOTE, place=180, quotes=False),)
