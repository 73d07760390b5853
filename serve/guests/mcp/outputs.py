"""The results of the tools as JSON Schema (2020-12); the names are those of the API, in French.

A schema is that of the answer of the route, without texts and with the keys that the tool shows. The tools leave out
keys that are null in the API, so only keys that are always there are required.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Final

from serve.contract import company_fields
from serve.contract.objects import components
from serve.contract.objects.account import Compte, Compteurs
from serve.contract.objects.analyses import AnalyseEntreprise, Comparables
from serve.contract.objects.changes import ModificationsSuivies, ModificationSuivie
from serve.contract.objects.common import Quota
from serve.contract.objects.groups import Groupe
from serve.contract.objects.json_schema import component_schema
from serve.contract.objects.lists import (
    ListePays,
    ListeSecteurs,
    ListeSources,
    ListeSousSecteurs,
    PaysDeListe,
    SecteurDeListe,
    SourceDeDonnees,
    SourcesPays,
    SousSecteurDeListe,
)
from serve.contract.objects.markets import AnalyseMarche
from serve.contract.objects.record import Fiche, LigneComptes
from serve.contract.objects.search import (
    Effectifs,
    Mot,
    Recherche,
    Repartition,
    SecteurSuggere,
    SocieteSuggeree,
    Suggestions,
    TexteVoulu,
    VilleSuggeree,
)
from shards.codec.record import FIELDS

Schema = dict[str, Any]

# The fields of a company in a search: enough to choose one, not to describe it.
COMPACT: Final = tuple(field.champ for field in company_fields.fields() if field.in_tools)
_COMPANY_KEYS: Final = ("iso2", "id", "nom")

_TEXT: Final[Schema] = {"type": "string"}
_OBJECT: Final[Schema] = {"type": "object"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_COMPANY_COUNT: Final[Schema] = {**_COUNT, "description": "Companies."}
_NOTE: Final = {"note": {**_TEXT, "description": "What to do next, in English."}}
_CREDITS: Final = {"credits_debites": _COUNT, "credits_restants": _COUNT}
# Keys of a caller's plan that a tool tells in its own way, or not at all.
_KEYS_OF_THE_PLAN: Final = ("module", "plan_souscrit", "outil_api", "offre_suivante", "motif_code")


def answer_schema(
    kind: Any, *names: str, further: Mapping[str, Schema] | None = None, **said: Schema
) -> Schema:
    """The schema of an answer, or of a part of one, with its fields `names`, or else all but those of the plan.

    Args:
        further: keys that the tool alone has, and may leave out.
        said: fields that a tool describes in words of its own, and keys that it alone has and always shows.
    """
    declared = component_schema(kind, "en")
    own = declared["properties"]
    shown = names or tuple(name for name in own if name not in _KEYS_OF_THE_PLAN)
    properties = {
        name: said[name] if name in said else _without_texts(own[name])
        for name in dict.fromkeys((*shown, *said))
    }
    always = [
        name
        for name, schema in properties.items()
        if name not in own
        or (name in declared["required"] and _allows_null(own[name]) <= _allows_null(schema))
    ]
    return _object(properties | dict(further or {}), always)


def _object(properties: Mapping[str, Schema], required: Sequence[str]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _allows_null(schema: Schema) -> bool:
    return "null" in schema.get("type", ()) or {"type": "null"} in schema.get("anyOf", ())


def _without_texts(schema: Schema) -> Schema:
    """A schema without texts and without null; an object has no more than its type."""
    if "anyOf" in schema:
        return _without_texts(schema["anyOf"][0])
    if "$ref" in schema:
        schema = _components().get(schema["$ref"].rpartition("/")[2], _OBJECT)
    kind = schema["type"]
    kept = {"type": kind[0] if isinstance(kind, list) else kind}
    if "minimum" in schema:
        kept["minimum"] = schema["minimum"]
    return kept | ({"items": _without_texts(schema["items"])} if "items" in schema else {})


@cache
def _components() -> Mapping[str, Schema]:
    return components.schemas("en")


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _company(names: Sequence[str], *, described: bool) -> Schema:
    known = {field.champ: field for field in company_fields.fields()}
    properties: dict[str, Schema] = {}
    for name in names:
        kind = known[name].json_type
        properties[name] = _list(_TEXT) if kind == "array" else {"type": kind}
        if described:
            properties[name]["description"] = known[name].definition["en"]
    return _object(properties, _COMPANY_KEYS)


_TOTAL: Final = {**_COUNT, "description": "Companies that match in the whole base, exactly."}
# What an answer may say of the search that it was asked for; search_companies describes it.
_ABOUT_SEARCH: Final[Mapping[str, Schema]] = {
    "pays_sans_donnees": _list(_TEXT),
    "ids_inconnus": _list(_TEXT),
    "activites_comprises": _list(_OBJECT),
}
_PROPOSALS: Final[Mapping[str, Schema]] = {
    "vouliez_vous_dire": _list(_OBJECT),
    "recherches_proposees": _list(_OBJECT),
}
_ABOUT_SEARCH_DESCRIBED: Final[Mapping[str, Schema]] = {
    "pays_sans_donnees": {**_list(_TEXT), "description": "Countries without any data."},
    "ids_inconnus": {**_list(_TEXT), "description": "Items of `ids` that name no company."},
    "activites_comprises": {**_list(_OBJECT), "description": "What activite names; at most 20."},
    "vouliez_vous_dire": {
        **_list(answer_schema(TexteVoulu)),
        "description": "Nothing was found: what q may have meant, and how many companies that finds.",
    },
    "recherches_proposees": {
        **_list(_OBJECT),
        "description": "Nothing was found: activite, ville and q to send instead, and their total.",
    },
}

COUNTRIES: Final = answer_schema(
    ListePays,
    pays=_list(
        answer_schema(
            PaysDeListe, "iso2", "nom_fr", "nom_en", "n_societes", n_societes=_COMPANY_COUNT
        )
    ),
)
SECTORS: Final = answer_schema(
    ListeSecteurs,
    secteurs=_list(
        answer_schema(SecteurDeListe, "slug", "secteur_en", "n_societes", n_societes=_COMPANY_COUNT)
    ),
)
SUB_SECTORS: Final = answer_schema(
    ListeSousSecteurs,
    "total",
    total={**_COUNT, "description": "Sub-sectors that have a company."},
    sous_secteurs=_list(
        answer_schema(SousSecteurDeListe, "sous_secteur", "n_societes", n_societes=_COMPANY_COUNT)
    ),
    further=_NOTE,
)
_SOURCE: Final = answer_schema(
    SourceDeDonnees,
    "registre",
    "table",
    licence=_TEXT,
    attribution_en={**_TEXT, "description": "To repeat."},
    dates={**_list(_TEXT), "description": "Of the files."},
)
SOURCES: Final = answer_schema(
    ListeSources,
    "total",
    pays_sans_donnees=_ABOUT_SEARCH["pays_sans_donnees"],
    pays=_list(
        answer_schema(
            SourcesPays,
            "iso2",
            "nom_en",
            n_societes=_COMPANY_COUNT,
            sources=_list(_SOURCE),
            date_source={**_TEXT, "description": "Age of the companies' data."},
            further={"champs": {**_OBJECT, "description": "Share of each field, 0 to 1."}},
        )
    ),
    further=_NOTE,
)
SUGGESTIONS: Final = answer_schema(
    Suggestions,
    "societes",
    societes=_list(answer_schema(SocieteSuggeree)),
    mots=_list(answer_schema(Mot)),
    secteurs=_list(answer_schema(SecteurSuggere, "slug", "secteur_en")),
    villes=_list(answer_schema(VilleSuggeree, n=_COMPANY_COUNT)),
    activites=_list(_OBJECT),
)
COUNT: Final = answer_schema(
    Recherche, "total", "plan", total=_TOTAL, **_ABOUT_SEARCH, **_PROPOSALS, further=_NOTE
)
BREAKDOWN: Final = answer_schema(
    Repartition,
    total=_TOTAL,
    repartitions={
        **_OBJECT,
        "description": "By dimension: values as their filter takes them, null for none, with labels and numbers.",
        "additionalProperties": _list(
            answer_schema(
                Effectifs,
                "valeur",
                valeur={"type": ["string", "null"]},
                n=_COMPANY_COUNT,
                further={"libelle_en": _TEXT},
            )
        ),
    },
    autres={**_OBJECT, "description": "Companies with values that are not shown."},
    **_ABOUT_SEARCH,
    further=_NOTE,
)


@cache
def search_schema() -> Schema:
    """The schema of search_companies."""
    return answer_schema(
        Recherche,
        "total",
        "limit",
        "offset",
        "plan",
        total=_TOTAL,
        visibles={**_COUNT, "description": "How many of them the plan may page through."},
        generation={**_TEXT, "description": "The `depuis` of changes, later."},
        societes=_list(_company(COMPACT, described=True)),
        noms_trouves={
            **_OBJECT,
            "description": "The former name that q found, of each <iso2>:<id> found by it.",
            "additionalProperties": _TEXT,
        },
        **_ABOUT_SEARCH_DESCRIBED,
        further={
            "offset_suivant": {**_COUNT, "description": "The offset of the next page."},
            **_NOTE,
        },
    )


@cache
def company_schema() -> Schema:
    """The schema of read_company."""
    lines = _list(answer_schema(LigneComptes, "libelle", "code", "valeur"))
    statement = answer_schema(LigneComptes, "exercice", "etat", "devise", lignes=lines)
    return answer_schema(
        Fiche,
        "plan",
        societe=_company(FIELDS, described=False),
        comptes={**_list(statement), "description": "The latest year first; only if asked for."},
        further={
            "credits_debites": {**_COUNT, "description": "What this call cost."},
            "credits_restants": _COUNT,
            **_NOTE,
        },
    )


COMPANIES: Final = _object(
    {
        "societes": {**_list(_OBJECT), "description": "Each as read_company shows it."},
        "ids_inconnus": _ABOUT_SEARCH["ids_inconnus"],
        "proches": {**_OBJECT, "description": "Of an unknown item: the nearest companies."},
        "ids_restants": {**_list(_TEXT), "description": "Not read, and not counted."},
        **_NOTE,
    },
    ["societes"],
)
_CHANGE: Final = answer_schema(
    ModificationSuivie,
    champs={**_OBJECT, "description": "Each changed field: [before, after]."},
    cause={"description": "Why it entered or left: creee, supprimee, or the fields."},
)
CHANGES: Final = answer_schema(
    ModificationsSuivies,
    "depuis",
    "total",
    "plan",
    jusque={**_TEXT, "description": "The next `depuis`, after the last page."},
    visibles={**_COUNT, "description": "Changes that the plan shows."},
    modifications=_list(_CHANGE),
    suivant={**_TEXT, "description": "The `curseur` of the next page."},
    ids_inconnus=_ABOUT_SEARCH["ids_inconnus"],
    activites_comprises=_ABOUT_SEARCH["activites_comprises"],
    further=_NOTE,
)
COMPANY_ANALYSIS: Final = answer_schema(
    AnalyseEntreprise, "societe", "plan", "ratios", "rangs", "alertes", "score", further=_CREDITS
)
MARKET_ANALYSIS: Final = answer_schema(
    AnalyseMarche,
    total=_TOTAL,
    ratios={**_list(_OBJECT), "description": "Quartiles by country."},
    **_ABOUT_SEARCH,
    further={**_CREDITS, **_NOTE},
)
COMPARABLES: Final = answer_schema(Comparables)
GROUP: Final = answer_schema(Groupe, sources=_list(_TEXT))

_METER: Final = answer_schema(
    Quota, "limite", "utilise", "restant", "reinitialisation", limite=_COUNT, utilise=_COUNT
)
PLAN: Final = answer_schema(
    Compte,
    "plan",
    "limites",
    nom=_TEXT,
    further={
        "plan_souscrit": {**_TEXT, "description": "Paid for, where the API tool is missing to it."},
        **{one.name: _METER for one in fields(Compteurs)},
        "credits": _OBJECT,
        "offre_suivante": {**_OBJECT, "description": "The next plan; absent on the highest."},
        **_NOTE,
    },
)
