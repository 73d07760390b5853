"""The tool for plans: the caller's limits, calls and credits that are left, and the next plan."""

from typing import Any, Final

from serve.access import admission, rights
from serve.access.call import Request
from serve.access.rights import VISITOR
from serve.contract.answers import Quota
from serve.contract.declaration import JsonSchema, members, names_of
from serve.contract.errors import ApiError
from serve.features.account.answers import Compteurs
from serve.features.account.operations import compte
from serve.request import reader
from serve.surfaces.mcp import results
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import Tool

# The figures of a plan that a visitor sees; an account sees all figures of GET /api/v1/compte.
_VISITOR_LIMITS: Final = (
    "resultats_par_recherche", "lignes_par_appel", "coordonnees", "etats_financiers",
)  # fmt: skip

# The advantages of a free account, which the tool describes to an assistant without a key.
_VISITOR_NOTE: Final = (
    "Without a key: the first companies of every search, with its exact total. A free account has "
    "more, and financial statements; its key is sent as `Authorization: Bearer …`."
)

# The schemas of single values, and of the document of the tool (PLAN).
_TEXT: Final[JsonSchema] = {"type": "string"}
_OBJECT: Final[JsonSchema] = {"type": "object"}
_COUNT: Final[JsonSchema] = {"type": "integer"}
# A counter of the plan, such as the calls of the day.
_METER: Final[JsonSchema] = {
    "type": "object",
    "properties": {
        "limite": _COUNT,
        "utilise": _COUNT,
        "restant": _COUNT,
        "reinitialisation": _TEXT,
    },
}
PLAN: Final[JsonSchema] = {
    "type": "object",
    "properties": {
        "plan": _TEXT,
        "nom": _TEXT,
        "limites": _OBJECT,
        "plan_souscrit": {
            **_TEXT,
            "description": "The plan that was bought, if it lacks the API tool.",
        },
        **{name: _METER for name in names_of(Compteurs)},
        "credits": _OBJECT,
        "offre_suivante": {**_OBJECT, "description": "The next plan; absent on the highest."},
    },
    "required": ["plan", "limites", "nom"],
    "additionalProperties": False,
}


async def explain_plan(call: Request) -> ToolResult:
    """Describe the caller's plan, or that of visitors; free and not metered, as the route /api/v1/compte (D15).

    A caller whose key is refused gets a refusal that also has the plan of visitors. `plan_souscrit` is the plan that
    the account pays for, if the rights of a lower plan apply.
    """
    await admission.admit(call)
    caller = call.caller
    if caller.account is None:
        reader.refuse_parameters(call.pairs)
        document = _visitor_document(call)
        if caller.refused:
            return results.refusal_result(ApiError("cle_invalide"), document)
        return ToolResult(document, {}, outcome="free")
    result = await compte(call)
    assert result.content is not None  # None only in a 304, which /compte never answers
    account = result.content
    document = {
        "plan": account.plan,
        "nom": caller.plan.nom,
        "limites": members(account.limites),
        **{kind: _meter_without_type(meter) for kind, meter in members(account.compteurs).items()},
        "credits": members(account.credits),
        **_offer(call),
    }
    if caller.souscrit is not None:
        document["plan_souscrit"] = caller.souscrit
        document["note"] = "The plan that is paid for needs the API tool; until then it is `free`."
    return results.tool_result(result, document)


def _visitor_document(call: Request) -> dict[str, Any]:
    """The plan of visitors, and the calls that are left to this visitor today."""
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
    """The next plan as an offer; empty for the highest plan."""
    offer = rights.offer(call.caller.plan, call.context.plans)
    return {} if offer is None else {"offre_suivante": members(offer)}


def _meter_without_type(meter: Quota) -> dict[str, Any]:
    """A counter without its type, which is the key of the counter in the document."""
    return {name: value for name, value in members(meter).items() if name != "type"}


TOOLS: Final = (Tool("explain_plan", explain_plan, PLAN, place=180, quotes=False),)
