"""The tools of the public lists, and the one that explains the caller's plan.

A key changes nothing in the lists (A2). The plan tool reports its limits, what is left, and what the
next plan allows.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from serve.access import admission, next_plan
from serve.access.admission import AdmittedCaller
from serve.access.call import CallResult
from serve.access.caller import Caller
from serve.access.rights import VISITOR
from serve.api.compte import compte
from serve.api.lists import ListContent
from serve.contract import errors
from serve.contract.objects.common import Quota
from serve.contract.objects.declaration import AnswerObject, members
from serve.contract.objects.lists import (
    ListePays,
    ListeSecteurs,
    ListeSources,
    ListeSousSecteurs,
    SourcesPays,
)
from serve.contract.objects.search import Suggestions
from serve.contract.parameters import PAYS
from serve.guests.mcp import results, sizes
from serve.guests.mcp.results import ToolCall, ToolResult

A = TypeVar("A", bound=AnswerObject)

# The figures of a plan that a visitor sees; an account sees those of GET /api/v1/compte.
_VISITOR_LIMITS: Final = (
    "resultats_par_recherche", "lignes_par_appel", "coordonnees", "etats_financiers",
)  # fmt: skip
_VISITOR_NOTE: Final = (
    "Without a key: the first companies of every search, with its exact total. A free account has "
    "more, and financial statements; its key is sent as `Authorization: Bearer …`."
)


def countries(_call: ToolCall, result: CallResult[ListContent[ListePays]]) -> Mapping[str, Any]:
    """Every country."""
    found = _answer(result)
    kept = ("iso2", "nom_fr", "nom_en", "n_societes")
    return {"total": found.total, "pays": [results.pick(one, kept) for one in found.pays]}


def sectors(_call: ToolCall, result: CallResult[ListContent[ListeSecteurs]]) -> Mapping[str, Any]:
    """Every sector, counted in the given countries."""
    found = _answer(result)
    kept = ("slug", "secteur_en", "n_societes")
    return {"total": found.total, "secteurs": [results.pick(one, kept) for one in found.secteurs]}


def sub_sectors(
    _call: ToolCall, result: CallResult[ListContent[ListeSousSecteurs]]
) -> Mapping[str, Any]:
    """The sub-sectors of the given sectors, as many as fit."""
    liste = _answer(result)

    def document(entries: list[Any]) -> dict[str, Any]:
        return {"total": liste.total, "sous_secteurs": entries}

    kept = ("sous_secteur", "n_societes")
    known = [results.pick(one, kept) for one in liste.sous_secteurs]
    entries = sizes.longest_fitting(known, document)
    if len(entries) == len(known):
        return document(entries)
    note = f"Only the first {len(entries)} are shown; ask for fewer sectors at a time."
    return {**document(entries), "note": note}


def sources(call: ToolCall, result: CallResult[ListContent[ListeSources]]) -> Mapping[str, Any]:
    """The sources of each country with data; the share of each field only of countries that are named."""
    liste = _answer(result)
    named = any(name == PAYS.name for name, _ in call.call.read())
    entries = [_country(one, named) for one in liste.pays if one.n_societes]

    def document(entries: list[Any]) -> dict[str, Any]:
        return {
            "total": liste.total,
            "pays_sans_donnees": liste.pays_sans_donnees,
            "pays": entries,
        }

    shown = sizes.longest_fitting(entries, document)
    if len(shown) == len(entries):
        return document(shown)
    note = f"Only the first {len(shown)} are shown; name fewer countries."
    return {**document(shown), "note": note}


def suggestions(_call: ToolCall, result: CallResult[Suggestions]) -> Mapping[str, Any]:
    """Companies, words, sectors, towns and activities that complete a text."""
    found = result.content
    assert found is not None  # without If-None-Match there is no 304
    return {
        "societes": [sizes.known_values(members(one)) for one in found.societes],
        "mots": [members(one) for one in found.mots],
        "secteurs": [results.pick(one, ("slug", "secteur_en")) for one in found.secteurs],
        "villes": [members(one) for one in found.villes],
        "activites": [results.pick(one, ("nace", "libelle_en", "n")) for one in found.activites],
    }


def _country(country: SourcesPays, named: bool) -> dict[str, Any]:
    """A country as a model needs it: whom to credit, and how old and how complete the data are."""
    sources = [
        {
            "registre": one.registre,
            "table": one.table,
            "licence": one.licence.nom,
            "attribution_en": one.licence.attribution_en,
            "dates": sorted({file.date for file in one.fichiers if file.date}),
        }
        for one in country.sources
    ]
    kept = results.pick(country, ("iso2", "nom_en", "n_societes", "date_source"))
    return {
        **sizes.known_values(kept),
        "sources": sources,
        **({"champs": country.champs} if named else {}),
    }


async def explain(call: ToolCall) -> ToolResult:
    """Free and not metered, like the route (D15); a visitor gets the plan of a visitor."""
    context = call.context
    admitted = await admission.admit(context, call.authorization, call.trace)
    caller, counting = admitted.caller, admitted.counting
    if counting is None:
        call.call.read()  # raises the 400 of an unknown argument
        shown = _of_visitor(call, admitted)
        if caller.refused:
            return results.of_error(errors.cle_invalide(), shown)
        return ToolResult(shown, {}, outcome="free")
    result = await compte(admission.read(context, call.call, caller), counting)
    assert result.content is not None  # /compte is never a 304
    account = result.content
    shown = {
        "plan": account.plan,
        "nom": caller.plan.nom,
        "limites": members(account.limites),
        **{kind: _meter(meter) for kind, meter in members(account.compteurs).items()},
        "credits": members(account.credits),
        **_offer(call, caller),
    }
    if caller.souscrit is not None:
        shown["plan_souscrit"] = caller.souscrit
        shown["note"] = "The plan that is paid for needs the API tool; until then it is `free`."
    return results.of_result(result, shown)


def _answer(result: CallResult[ListContent[A]]) -> A:
    assert result.content is not None  # without If-None-Match there is no 304
    return result.content.answer


def _of_visitor(call: ToolCall, admitted: AdmittedCaller) -> dict[str, Any]:
    plan = call.context.plans[VISITOR]
    limits = {name: getattr(plan, name) for name in _VISITOR_LIMITS}
    return {
        "plan": plan.slug,
        "nom": plan.nom,
        "limites": {**limits, "appels_restants_aujourd_hui": admitted.left.jour},
        **_offer(call, admitted.caller),
        "note": _VISITOR_NOTE,
    }


def _offer(call: ToolCall, caller: Caller) -> dict[str, Any]:
    """The plan that is proposed next; absent for the highest."""
    offer = next_plan.offer(caller.plan, call.context.plans)
    return {} if offer is None else {"offre_suivante": members(offer)}


def _meter(meter: Quota) -> dict[str, Any]:
    return {name: value for name, value in members(meter).items() if name != "type"}
