"""The operations of the API, in the order in which documents show them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve.api import health, lists
from serve.api.analyses.comparables import comparables
from serve.api.analyses.entreprise import entreprise
from serve.api.analyses.groupe import groupe
from serve.api.analyses.marche import marche
from serve.api.analyses.repartition import repartition
from serve.api.changes.modifications import modifications
from serve.api.changes.watch import prepare_watch
from serve.api.compte import compte
from serve.api.identifiants import identifiants
from serve.api.matching.rapprochement import lines_of_body
from serve.api.societe import societe
from serve.api.societes import societes
from serve.api.sources import sources
from serve.api.suggestions import suggestions
from serve.contract import parameters
from serve.contract.objects import (
    account,
    analyses,
    bodies,
    changes,
    groups,
    markets,
    matching,
    record,
    search,
)
from serve.contract.objects import lists as listed
from serve.contract.operation import Link, Operation
from serve.request import json_body, line_list

_RECORD: Final = "/api/v1/societes/{iso}/{id}"
RECONCILIATION_PATH: Final = "/api/v1/reconciliation"
_AT_ADDRESS: Final = f"{RECONCILIATION_PATH}/{{jeton}}"


def _companies(**given: str) -> Link:
    """A search by values of the first entry of a list."""
    return Link("companies", "searchCompanies", given)


def _company(place: str) -> Link:
    """The record of the company at a place of an answer."""
    given = {"iso": f"$response.body#/{place}/iso2", "id": f"$response.body#/{place}/id"}
    return Link("company", "readCompany", given)


_FIRST_COUNTRY: Final = "$response.body#/pays/0/iso2"
_FIRST_SECTOR: Final = "$response.body#/secteurs/0/slug"

OPERATIONS: Final = (
    Operation(
        "listCountries", "/api/v1/pays", "pays", "list", "Lists",
        lists.pays, listed.ListePays,
        tool="list_countries", parameters=parameters.PINNED, links=[_companies(pays=_FIRST_COUNTRY)],
    ),
    Operation(
        "listSectors", "/api/v1/secteurs", "secteurs", "list", "Lists",
        lists.secteurs, listed.ListeSecteurs,
        tool="list_sectors", parameters=parameters.SECTORS,
        links=[
            _companies(secteur=_FIRST_SECTOR),
            Link("sub_sectors", "listSubSectors", {"secteur": _FIRST_SECTOR}),
        ],
    ),
    Operation(
        "listSubSectors", "/api/v1/sous-secteurs", "sous-secteurs", "list", "Lists",
        lists.sous_secteurs, listed.ListeSousSecteurs,
        tool="list_subsectors", parameters=parameters.SUB_SECTORS,
        links=[
            _companies(
                secteur="$request.query.secteur",
                sous_secteur="$response.body#/sous_secteurs/0/sous_secteur",
            )
        ],
    ),
    Operation(
        "listSources", "/api/v1/sources", "sources", "list", "Lists",
        sources, listed.ListeSources,
        tool="list_sources", parameters=parameters.SOURCES, links=[_companies(pays=_FIRST_COUNTRY)],
    ),
    Operation(
        "suggest", "/api/v1/suggestions", "suggestions", "free", "Companies",
        suggestions, search.Suggestions, search.SuggestionsRefusees,
        tool="suggest", parameters=parameters.SUGGESTIONS, links=[_company("societes/0")],
    ),
    Operation(
        "searchCompanies", "/api/v1/societes", "societes", "call", "Companies",
        societes, search.Recherche, search.RechercheRefusee,
        parameters=parameters.SEARCH, headers=["Link"], links=[_company("societes/0")],
    ),
    Operation(
        "countCompanies", "/api/v1/repartition", "repartition", "call", "Companies",
        repartition, search.Repartition, search.RepartitionRefusee,
        tool="break_down_companies", parameters=parameters.REPARTITION,
    ),
    Operation(
        "listChanges", "/api/v1/modifications", "modifications", "call", "Companies",
        modifications, changes.ListeModifications,
        account=True, parameters=parameters.MODIFICATIONS,
        links=[Link("further", "listChanges", {"depuis": "$response.body#/jusque"})],
    ),
    Operation(
        "watchChanges", "/api/v1/modifications", "modifications", "body", "Companies",
        prepare_watch, changes.ModificationsSuivies,
        method="POST", account=True, body=bodies.DemandeModifications, largest=json_body.LARGEST,
        headers=["X-Donnees-Version"],
    ),
    Operation(
        "readCompany", _RECORD, "societe", "call", "Companies",
        societe, record.Fiche, record.FicheRefusee, record.FicheIndisponible,
        parameters=parameters.PINNED, credits="fiche", headers=["Content-Location", "Content-Language"],
    ),
    Operation(
        "analyseCompany", f"{_RECORD}/analyses/entreprise", "analyse-entreprise", "analysis",
        "Companies", entreprise, analyses.AnalyseEntreprise,
        account=True, tool="analyse_company", parameters=parameters.PINNED, credits="entreprise",
        headers=["Content-Language", "Content-Location"],
    ),
    Operation(
        "findComparables", f"{_RECORD}/comparables", "comparables", "call", "Companies",
        comparables, analyses.Comparables, analyses.ComparablesRefuses,
        tool="comparable_companies", parameters=parameters.COMPARABLES,
        headers=["Content-Location", "Content-Language"],
        links=[_company("comparables/0/societe")],
    ),
    Operation(
        "readGroup", f"{_RECORD}/groupe", "groupe", "call", "Companies",
        groupe, groups.Groupe, groups.GroupeRefuse,
        tool="company_group", parameters=parameters.PINNED, headers=["Content-Location", "Content-Language"],
        links=[_company("parents/0/societe")],
    ),
    Operation(
        "analyseMarket", "/api/v1/analyses/marche", "analyse-marche", "analysis", "Companies",
        marche, markets.AnalyseMarche,
        account=True, tool="analyse_market", parameters=parameters.MARCHE, credits="marche",
        headers=["Content-Language"],
    ),
    Operation(
        "matchCompanies", "/api/v1/rapprochement", "rapprochement", "body", "Companies",
        lines_of_body, matching.Rapprochement, matching.RapprochementRefuse,
        method="POST", body=bodies.DemandeRapprochement, largest=line_list.LARGEST,
        headers=["Vary", "Content-Language", "X-Donnees-Version"],
    ),
    Operation(
        "lookUp", "/api/v1/identifiants/{valeur}", "identifiants", "call", "Companies",
        identifiants, search.Identification, search.IdentificationRefusee,
        tool="look_up", parameters=parameters.PINNED, links=[_company("candidats/0")],
    ),
    Operation(
        "readAccount", "/api/v1/compte", "compte", "account", "Account",
        compte, account.Compte, account=True, headers=["Vary"],
    ),
)  # fmt: skip


def _reconciliation(
    name: str, path: str, route: str, answer: Any = None,
    *, headers: Sequence[str] = ("Content-Language",), **more: Any,
) -> Operation:  # fmt: skip
    return Operation(
        name, path, route, "reconciliation", "Companies", None, answer, matching.ReconciliationRefusee,
        headers=headers, **more,
    )  # fmt: skip


_ASKED: Final[Mapping[str, Any]] = {"parameters": parameters.RECONCILIATION, "refusals": [413]}
_FORM: Final[Mapping[str, Any]] = {
    "method": "POST", "body": bodies.FormulaireReconciliation,
    "headers": ["ETag", "Vary", "Content-Language", "X-Donnees-Version"],
}  # fmt: skip
# A protocol, whose manifest names what lies below it; `{jeton}` is the token of the caller.
RECONCILIATION: Final = (
    _reconciliation(
        "reconcile", RECONCILIATION_PATH, "reconciliation", matching.ReconciliationReponse, **_ASKED
    ),
    _reconciliation(
        "reconcileFromForm", RECONCILIATION_PATH, "reconciliation", matching.ReconciliationReponse, **_FORM
    ),
    _reconciliation(
        "reconcileAtAddress", _AT_ADDRESS, "reconciliation-adresse", matching.ReconciliationReponse,
        text="reconcile", **_ASKED,
    ),
    _reconciliation(
        "reconcileFromFormAtAddress", _AT_ADDRESS, "reconciliation-adresse", matching.ReconciliationReponse,
        text="reconcileFromForm", **_FORM,
    ),
    _reconciliation(
        "proposeFields", f"{_AT_ADDRESS}/properties", "reconciliation-champs",
        matching.ReconciliationChamps, parameters=(parameters.CHAMPS,),
    ),
    _reconciliation(
        "suggestEntities", f"{_AT_ADDRESS}/suggest/{{quoi}}", "reconciliation-suggestions",
        matching.ReconciliationSuggestions, parameters=parameters.RECONCILIATION_SUGGESTIONS, refusals=[404],
    ),
    _reconciliation(
        "previewEntity", f"{_AT_ADDRESS}/preview/{{societe}}", "reconciliation-apercu",
        media=["text/html"], refusals=[404], parameters=parameters.PINNED,
    ),
    _reconciliation(
        "viewEntity", f"{_AT_ADDRESS}/view/{{societe}}", "reconciliation-vue", headers=(), refusals=[404],
        parameters=parameters.PINNED,
    ),
)  # fmt: skip

CHECKS: Final = (
    Operation(
        "checkAlive", "/healthz", "healthz", "check", "Service", health.healthz, listed.Vivant
    ),
    Operation(
        "checkReady", "/readyz", "readyz", "check", "Service", health.readyz, listed.Pret,
        refusals=[503],
    ),
    Operation("readMetrics", "/metrics", "metrics", "metrics", "Service", media=["text/plain"]),
)  # fmt: skip
