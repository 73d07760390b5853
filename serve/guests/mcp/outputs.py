"""The results of the tools as JSON Schema (2020-12); the names are those of the API, in French.

The tools leave out keys that are null in the API, so only keys that are always there are required.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from serve.contract import seed_tables
from serve.contract.objects.common import Quota
from serve.contract.objects.json_schema import component_schema
from serve.contract.objects.lists import PaysDeListe, SecteurDeListe, SousSecteurDeListe
from serve.contract.objects.search import (
    Mot,
    SecteurSuggere,
    SocieteSuggeree,
    TexteVoulu,
    VilleSuggeree,
)
from shards.codec.record import FIELDS

Schema = dict[str, Any]

# The fields of a company in a search: enough to choose one, not to describe it.
COMPACT: Final = tuple(field.champ for field in seed_tables.fields() if field.in_tools)
_ALWAYS: Final = ("iso2", "id", "nom")

_TYPES: Final[Mapping[str, str]] = {
    seed_tables.WHOLE: "integer",
    seed_tables.YEAR: "integer",
    seed_tables.AMOUNT: "number",
    seed_tables.TRUTH: "boolean",
}
_TEXT: Final[Schema] = {"type": "string"}
_BY_NAME: Final[Schema] = {"type": "object"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_N: Final[Schema] = {**_COUNT, "description": "Companies, in the scope that was asked for."}
_NOTE: Final[Schema] = {**_TEXT, "description": "What to do next, in English."}


def _object(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _brief(kind: type, *names: str, **said: Schema) -> Schema:
    """An object of an answer with these of its fields, without texts; one that may be null is left out then.

    `said`: the fields that a tool describes in words of its own.
    """
    declared = component_schema(kind, "en")["properties"]
    required: dict[str, Schema] = {}
    optional: dict[str, Schema] = {}
    for name in names:
        one = said.get(name) or _bare(declared[name])
        (optional if "null" in declared[name]["type"] else required)[name] = one
    return _object(required, optional)


def _bare(schema: Schema) -> Schema:
    """A schema without texts and without null."""
    kept = {name: value for name, value in schema.items() if name in ("type", "minimum")}
    if isinstance(kept["type"], list):
        kept["type"] = kept["type"][0]
    return kept | ({"items": _bare(schema["items"])} if "items" in schema else {})


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _company(names: Sequence[str], *, described: bool) -> Schema:
    known = {field.champ: field for field in seed_tables.fields()}
    properties: dict[str, Schema] = {}
    for name in names:
        genre = known[name].genre
        properties[name] = (
            _list(_TEXT) if genre == seed_tables.TEXTS else {"type": _TYPES.get(genre, "string")}
        )
        if described:
            properties[name]["description"] = known[name].definition["en"]
    schema = _object({name: properties[name] for name in _ALWAYS})
    return schema | {"properties": properties}


COUNTRIES: Final = _object({
    "total": _COUNT,
    "pays": _list(_brief(PaysDeListe, "iso2", "nom_fr", "nom_en", "n_societes", n_societes=_N)),
})  # fmt: skip
SECTORS: Final = _object({
    "total": _COUNT,
    "secteurs": _list(_brief(SecteurDeListe, "slug", "secteur_en", "n_societes", n_societes=_N)),
})  # fmt: skip
SUB_SECTORS: Final = _object(
    {
        "total": {**_COUNT, "description": "Sub-sectors that have a company."},
        "sous_secteurs": _list(
            _brief(SousSecteurDeListe, "sous_secteur", "n_societes", n_societes=_N)
        ),
    },
    {"note": _NOTE},
)
# Keys of several tools, which search_companies describes.
_EMPTY: Final[Schema] = _list(_TEXT)
_UNKNOWN: Final[Schema] = _list(_TEXT)
_MEANT: Final[Schema] = _list(_BY_NAME)
SOURCES: Final = _object(
    {
        "total": _COUNT,
        "pays_sans_donnees": _EMPTY,
        "pays": _list(
            _object(
                {
                    "iso2": _TEXT,
                    "nom_en": _TEXT,
                    "n_societes": _N,
                    "sources": _list(
                        _object(
                            {
                                "registre": _TEXT,
                                "table": _TEXT,
                                "licence": _TEXT,
                                "attribution_en": {**_TEXT, "description": "To repeat."},
                                "dates": {**_list(_TEXT), "description": "Of the files."},
                            }
                        )
                    ),
                },
                {
                    "date_source": {**_TEXT, "description": "Age of the companies' data."},
                    "champs": {"type": "object", "description": "Share of each field, 0 to 1."},
                },
            )
        ),
    },
    {"note": _NOTE},
)
SUGGESTIONS: Final = _object(
    {
        "societes": _list(_brief(SocieteSuggeree, "iso2", "id", "nom", "ville", "etat")),
        "mots": _list(_brief(Mot, "mot", "n")),
        "secteurs": _list(_brief(SecteurSuggere, "slug", "secteur_en")),
        "villes": _list(_brief(VilleSuggeree, "ville", "n", n=_N)),
        "activites": _list(_BY_NAME),
    }
)
_PROPOSED: Final = _list(_BY_NAME)
_UNDERSTOOD: Final = _list(_BY_NAME)
_TOTAL: Final = {**_COUNT, "description": "Companies that match in the whole base, exactly."}
COUNT: Final = _object(
    {"total": _TOTAL, "plan": _TEXT},
    {
        "pays_sans_donnees": _EMPTY,
        "ids_inconnus": _UNKNOWN,
        "vouliez_vous_dire": _MEANT,
        "recherches_proposees": _PROPOSED,
        "activites_comprises": _UNDERSTOOD,
        "note": _NOTE,
    },
)

BREAKDOWN: Final = _object(
    {
        "total": _TOTAL,
        "repartitions": {
            "type": "object",
            "description": "By dimension: values as their filter takes them, null for none, with labels and numbers.",
            "additionalProperties": _list(
                _object({"valeur": {"type": ["string", "null"]}, "n": _N}, {"libelle_en": _TEXT})
            ),
        },
        "autres": {"type": "object", "description": "Companies with values that are not shown."},
    },
    {
        "pays_sans_donnees": _EMPTY,
        "ids_inconnus": _UNKNOWN,
        "activites_comprises": _UNDERSTOOD,
        "note": _NOTE,
    },
)


def of_answer(kind: Any) -> Schema:
    """The schema of a whole answer: the types of its keys, of which a null one is left out."""
    declared = component_schema(kind, "en")
    properties = declared["properties"]
    known = {name: _bare(one) if "type" in one else {} for name, one in properties.items()}
    always = {
        name: known[name] for name in declared["required"] if "null" not in str(properties[name])
    }
    return _object(always, {name: one for name, one in known.items() if name not in always})


@cache
def search() -> Schema:
    """The schema of search_companies."""
    return _object(
        {
            "total": _TOTAL,
            "visibles": {**_COUNT, "description": "How many of them the plan may page through."},
            "limit": _COUNT,
            "offset": _COUNT,
            "plan": _TEXT,
            "generation": {**_TEXT, "description": "The `depuis` of changes, later."},
            "societes": _list(_company(COMPACT, described=True)),
        },
        {
            "ids_inconnus": {**_UNKNOWN, "description": "Items of `ids` that name no company."},
            "offset_suivant": {**_COUNT, "description": "The offset of the next page."},
            "pays_sans_donnees": {**_EMPTY, "description": "Countries without any data."},
            "vouliez_vous_dire": {
                **_list(_brief(TexteVoulu, "q", "total")),
                "description": "Nothing was found: what q may have meant, and how many companies that finds.",
            },
            "recherches_proposees": {
                **_PROPOSED,
                "description": "Nothing was found: activite, ville and q to send instead, and their total.",
            },
            "activites_comprises": {
                **_UNDERSTOOD,
                "description": "What activite names; at most 20.",
            },
            "noms_trouves": {
                "type": "object",
                "description": "The former name that q found, of each <iso2>:<id> found by it.",
                "additionalProperties": _TEXT,
            },
            "note": _NOTE,
        },
    )


@cache
def company() -> Schema:
    """The schema of read_company."""
    line = _object({"libelle": _TEXT}, {"code": _TEXT, "valeur": {"type": "number"}})
    statement = _object(
        {"exercice": {"type": "integer"}, "etat": _TEXT, "lignes": _list(line)}, {"devise": _TEXT}
    )
    return _object(
        {"societe": _company(FIELDS, described=False), "plan": _TEXT},
        {
            "comptes": {
                **_list(statement),
                "description": "The latest year first; only if asked for.",
            },
            "credits_debites": {**_COUNT, "description": "What this call cost."},
            "credits_restants": _COUNT,
            "note": _NOTE,
        },
    )


COMPANIES: Final = _object(
    {"societes": {**_list(_BY_NAME), "description": "Each as read_company shows it."}},
    {
        "ids_inconnus": _UNKNOWN,
        "proches": {**_BY_NAME, "description": "Of an unknown item: the nearest companies."},
        "ids_restants": {**_list(_TEXT), "description": "Not read, and not counted."},
        "note": _NOTE,
    },
)
_CHANGE: Final = _object(
    {"nature": _TEXT, "iso2": _TEXT, "id": _TEXT},
    {
        "champs": {**_BY_NAME, "description": "Each changed field: [before, after]."},
        "cause": {"description": "Why it entered or left: creee, supprimee, or the fields."},
    },
)
CHANGES: Final = _object(
    {
        "depuis": _TEXT,
        "jusque": {**_TEXT, "description": "The next `depuis`, after the last page."},
        "total": _COUNT,
        "visibles": {**_COUNT, "description": "Changes that the plan shows."},
        "plan": _TEXT,
        "modifications": _list(_CHANGE),
    },
    {
        "suivant": {**_TEXT, "description": "The `curseur` of the next page."},
        "ids_inconnus": _UNKNOWN,
        "activites_comprises": _UNDERSTOOD,
        "note": _NOTE,
    },
)

COMPANY_ANALYSIS: Final = _object(
    {"societe": _BY_NAME, "plan": _TEXT, "ratios": _list(_BY_NAME), "rangs": _BY_NAME},
    {
        "alertes": _list(_BY_NAME),
        "score": _BY_NAME,
        "credits_debites": _COUNT,
        "credits_restants": _COUNT,
        "note": _NOTE,
    },
)
MARKET_ANALYSIS: Final = _object(
    {"total": _TOTAL, "plan": _TEXT, "taille": _BY_NAME, "concentration": _BY_NAME},
    {
        "exercices": _list({"type": "integer"}),
        **{name: _BY_NAME for name in ("tranches", "creations", "cessations", "croissance")},
        "ratios": {**_list(_BY_NAME), "description": "Quartiles by country."},
        "premieres": _list(_BY_NAME),
        "pays_sans_donnees": _EMPTY,
        "ids_inconnus": _UNKNOWN,
        "activites_comprises": _UNDERSTOOD,
        "credits_debites": _COUNT,
        "credits_restants": _COUNT,
        "note": _NOTE,
    },
)
COMPARABLES: Final = _object(
    {"societe": _BY_NAME, "plan": _TEXT, "comparables": _list(_BY_NAME)}, {"motif": _TEXT}
)

GROUP: Final = _object(
    {"societe": _BY_NAME, "plan": _TEXT, "parents": _list(_BY_NAME), "enfants": _list(_BY_NAME)},
    {
        "tete": _BY_NAME,
        "motif": _TEXT,
        "total_enfants": _COUNT,
        "total_consolidees": _COUNT,
        "sources": _list(_TEXT),
    },
)

_METER: Final = _brief(
    Quota, "limite", "utilise", "restant", "reinitialisation", limite=_COUNT, utilise=_COUNT
)
_FIGURES: Final[Schema] = {"type": "object"}
PLAN: Final = _object(
    {"plan": _TEXT, "nom": _TEXT, "limites": _FIGURES},
    {
        "plan_souscrit": {**_TEXT, "description": "Paid for, where the API tool is missing to it."},
        "appels_jour": _METER,
        "exports_mois": _METER,
        "essais_mois": _METER,
        "credits": _FIGURES,
        "offre_suivante": {**_FIGURES, "description": "The next plan; absent on the highest."},
        "note": _NOTE,
    },
)
