"""The schemas of the answers (§2), as components. Pure."""

from typing import Final

from quota.plans import SLUGS
from serve.access.rights import VISITOR
from serve.contract.parameters import DIMENSIONS
from serve.data.identifiers import TYPES
from serve.docs.openapi.analyses import ANALYSES
from serve.docs.openapi.groups import GROUPS
from serve.docs.openapi.markets import MARKETS
from serve.docs.openapi.objects import LIGNE, LIGNE_EXPORTEE, SOCIETE, SOURCES, SUGGESTIONS
from serve.docs.openapi.schema import (
    Schema,
    array,
    either,
    moment,
    nullable,
    number,
    one_of,
    ref,
    shape,
    text,
    texts,
    truth,
    whole,
)

_TOTAL: Final = whole("Entries in the list.", minimum=0)
_N: Final = whole("Companies.", minimum=0)
_NEXT: Final = either(ref("Offre"), {"type": "null"})

# If the plan of a key lacks the API tool, answers have it beside the plan served (contract A7).
_TOOL: Final[dict[str, Schema]] = {
    "plan_souscrit": ref("CodePlan"),
    "outil_api": truth("False where the API tool (outil API) is missing to the plan paid for."),
}
_OPTIONAL: Final = tuple(_TOOL)

ERREUR: Final = shape(
    "What went wrong. `code` is for programs and stable, `message` for people.",
    {"code": text("Code of the error."), "message": text("What it is, and what to do.")},
)

OFFRE: Final = shape(
    "The next plan up (offre suivante), with its price and figures.",
    {
        "plan": one_of("Plan.", *(slug for slug in SLUGS if slug != VISITOR)),
        "nom": text("Name, French."),
        "nom_en": text("Name, English."),
        "prix_mensuel_eur": number(
            "Price of a month billed monthly, in euros before VAT; annual billing costs 10 % less."
        ),
        "prix_annuel_eur": number("Price of a year paid in advance, in euros before VAT."),
        "resultats_par_recherche": whole("Companies that a search may show."),
        "exports_par_mois": whole("Exports a month."),
        "lignes_par_export": whole("Companies an export."),
        "appels_api_par_jour": whole("API calls a day."),
        "lignes_par_appel": whole("Companies a call."),
        "societes_avec_comptes_par_export": whole("Companies with statements an export."),
        "coordonnees": truth("Contact fields are served."),
        "etats_financiers": truth("Financial statements are served."),
        "url": one_of("Where it is to be had.", "/inscription", "/tarifs"),
    },
)

_SEARCH: Final[dict[str, Schema]] = {
    "total": whole("Companies that match, in the whole base; never truncated.", minimum=0),
    "limit": whole("Limit that was applied.", minimum=0),
    "offset": whole("Offset; always 0 for a visitor.", minimum=0),
    "plan": ref("CodePlan"),
    **_TOOL,
    "plafond_resultats": whole("Companies that the plan may show of one search.", minimum=0),
    "visibles": whole("Companies of this search that the plan may show.", minimum=0),
    "tronque": truth("Whether the plan may not show them all."),
    "restantes": whole("`total` minus `visibles`.", minimum=0),
    "coordonnees": truth("False: the four contact fields are null."),
    "offre_suivante": _NEXT,
    "apercu": truth("True: the call is not identified, this is the preview of a visitor."),
    "societes": array(ref("Societe"), "Companies, in the order asked for."),
    "pays_sans_donnees": texts(
        "Countries named by `pays` of which there is no company in the base, whatever the search; "
        "absent where there is none."
    ),
    "ids_inconnus": texts(
        "Items of `ids` that name no company, as they were sent; absent without `ids`."
    ),
    "noms_trouves": {
        "type": "object",
        "description": "The companies of this page that have `q` in a former name only, as "
        "`<iso2>:<id>`, each with that name as published; absent where there is none.",
        "additionalProperties": {"type": "string"},
        "examples": [{"UK:00944111": "ROYAL TOOL LIMITED"}],
    },
    "vouliez_vous_dire": array(
        ref("TexteVoulu"),
        "Only where `total` is 0 because of `q`: at most 3 texts that find companies with the other "
        "filters of this search, the nearest first.",
    ),
}
_RECORD: Final[dict[str, Schema]] = {
    "societe": ref("Societe"),
    "plan": ref("CodePlan"),
    **_TOOL,
    "comptes": array(
        ref("LigneComptes"),
        "Lines of the financial statements of up to 5 fiscal years, newest first; empty where "
        "none are known. Absent where `comptes_message` is there.",
    ),
    "comptes_message": text("Why there is no `comptes`: the plan gives no right to them."),
    "droits": ref("Droits"),
    "offre_suivante": _NEXT,
}
_WHERE_ASKED: Final = (
    "pays_sans_donnees", "ids_inconnus", "noms_trouves", "vouliez_vous_dire",
)  # fmt: skip
_STATEMENTS: Final = ("comptes", "comptes_message")
_CANDIDATES: Final[dict[str, Schema]] = {
    "type": one_of("Kind of number: national identifier, VAT number, SIRET or LEI.", *TYPES),
    "candidats": array(
        shape(
            "A company.",
            {
                "iso2": text("Country."),
                "id": text("National identifier, as the register writes it."),
                "nom": text("Name."),
            },
        ),
        "The companies with this number, as many as the plan shows.",
    ),
}
_DISTRIBUTION: Final = array(ref("Effectifs"), "Values by number of companies, descending.")
_COUNTS: Final[dict[str, Schema]] = {
    "total": whole("Companies that match, in the whole base.", minimum=0),
    "repartitions": {
        "type": "object",
        "description": "By dimension of `par`, the values that occur.",
        "properties": {name: _DISTRIBUTION for name in DIMENSIONS},
    },
    "autres": {
        "type": "object",
        "description": "Companies with a value that `limite` leaves out, by dimension of `par` that has a limit.",
        "additionalProperties": _N,
    },
    **{name: _SEARCH[name] for name in ("pays_sans_donnees", "ids_inconnus")},
}
_REFUSED: Final[dict[str, Schema]] = {"erreur": ref("Erreur")}

CREDITS: Final = shape(
    "What a full record costs, and what there is.",
    {
        "cout": whole("Credits that the record costs."),
        "solde": whole("Credits left."),
        "reinitialisation": moment("When the credits of the month come again"),
    },
)

QUOTA: Final = shape(
    "The limit that was reached.",
    {
        "type": one_of("Which: calls a day, exports or trials a month, or the burst limit.",
                       "appels_jour", "exports_mois", "essais_mois", "debit"),
        "limite": whole("Limit."),
        "utilise": whole("Used."),
        "restant": whole("Left.", minimum=0),
        "reinitialisation": moment("When it begins anew"),
    },
)  # fmt: skip

SHAPES: Final[dict[str, Schema]] = {
    "CodePlan": one_of(
        "A plan. `plan` is the one that is served; where the API tool is missing to it, "
        "`plan_souscrit` is the one that is paid for.",
        *SLUGS,
    ),
    "Societe": SOCIETE,
    "LigneComptes": LIGNE,
    "LigneComptesExportee": LIGNE_EXPORTEE,
    "Offre": OFFRE,
    "Erreur": ERREUR,
    "Credits": CREDITS,
    "Quota": QUOTA,
    "Droits": shape(
        "Rights of this answer.",
        {
            "etats_financiers": truth("Financial statements are served."),
            "coordonnees": truth("Contact fields are served."),
        },
    ),
    "Identification": shape("The companies with a number.", _CANDIDATES),
    "IdentificationRefusee": shape(
        "The key is not valid: what a visitor gets, and `erreur`.", {**_CANDIDATES, **_REFUSED}
    ),
    "Effectifs": shape(
        "The companies of a value.",
        {
            "valeur": nullable(
                text("As the filter of the dimension takes it; null: companies without a value.")
            ),
            "libelle": text("Label, French."),
            "libelle_en": text("Label, English."),
            "n": _N,
        },
    ),
    "Repartition": shape("The counts of a search.", _COUNTS, _WHERE_ASKED[:2]),
    "RepartitionRefusee": shape(
        "The key is not valid: what a visitor gets, and `erreur`.",
        {**_COUNTS, **_REFUSED},
        _WHERE_ASKED[:2],
    ),
    "Recherche": shape("A page of a search.", _SEARCH, (*_OPTIONAL, *_WHERE_ASKED)),
    "TexteVoulu": shape(
        "A text that `q` may have meant.",
        {"q": text("The text."), "total": whole("Companies that it finds, exactly.", minimum=1)},
    ),
    "RechercheRefusee": shape(
        "The page that a visitor gets, and why it is no more: the key is not valid.",
        {**_SEARCH, **_REFUSED},
        (*_OPTIONAL, *_WHERE_ASKED),
    ),
    "Fiche": shape("The record of a company.", _RECORD, (*_OPTIONAL, *_STATEMENTS)),
    "FicheRefusee": shape(
        "The record that a visitor gets, and why it is no more: the key is not valid.",
        {**_RECORD, **_REFUSED},
        (*_OPTIONAL, *_STATEMENTS),
    ),
    "FicheEpuisee": shape(
        "What is left of a record when the credits are used up: the public identity.",
        {
            **_REFUSED,
            **{name: schema for name, schema in _RECORD.items() if name != "comptes"},
            "credits": ref("Credits"),
        },
        _OPTIONAL,
    ),
    "FicheIndisponible": shape(
        "What is left of a record that cannot be charged now: the public identity. Nothing is.",
        {**_REFUSED, **{name: schema for name, schema in _RECORD.items() if name != "comptes"}},
        _OPTIONAL,
    ),
    "Pays": shape(
        "A country.",
        {
            "iso2": text("Code, as it is sent: ISO 3166-1 alpha-2, `UK` for the United Kingdom."),
            "slug": text("Name for addresses."),
            "nom_fr": text("Name, French."),
            "nom_en": text("Name, English."),
            "devise": text("Currency (ISO 4217)."),
            "registre": text("Name of the register."),
            "n_societes": _N,
        },
    ),
    "ListePays": shape(
        "The countries.", {"total": _TOTAL, "pays": array(ref("Pays"), "Countries.")}
    ),
    "Secteur": shape(
        "A sector.",
        {
            "secteur": text("Label, French; may be sent as it is."),
            "secteur_en": text("Label, English."),
            "slug": text("Short form, to be sent instead of the label."),
            "grand_secteur": text("Top-level group, French."),
            "n_societes": _N,
        },
    ),
    "ListeSecteurs": shape(
        "The sectors.", {"total": _TOTAL, "secteurs": array(ref("Secteur"), "Sectors.")}
    ),
    "SousSecteur": shape(
        "A sub-sector.",
        {
            "sous_secteur": text("Label, French; to be sent exactly so."),
            "n_societes": _N,
            "sous_secteur_en": text("Label, English."),
        },
    ),
    "Perimetre": shape(
        "The scope that was counted.",
        {"pays": texts("Countries: codes."), "secteurs": texts("Sectors: French labels.")},
    ),
    "ListeSousSecteurs": shape(
        "The sub-sectors that have a company in the scope.",
        {
            "total": _TOTAL,
            "perimetre": ref("Perimetre"),
            "sous_secteurs": array(ref("SousSecteur"), "Sub-sectors."),
        },
    ),
    **SOURCES,
    **ANALYSES,
    **MARKETS,
    **GROUPS,
    **SUGGESTIONS,
    "Vivant": shape("The process is alive.", {"statut": text("Always so.", enum=["vivant"])}),
    "Pret": shape(
        "The process can answer.",
        {
            "statut": text("Always so.", enum=["pret"]),
            "generation": text("Name of the data that are served."),
            "precedente": nullable(text("Name of the data before; `version` may still be it.")),
            "refusee": nullable(
                text("Name of the published data if they are damaged, so that others are served.")
            ),
            "pays_manquants": texts("Countries whose data are damaged here: answered with 503."),
            "pid": whole("Process that answers."),
        },
    ),
    "Cle": shape(
        "A key, which is never shown again.",
        {
            "id": text("Name of the key."),
            "libelle": text("Label."),
            "fin": text("Last four characters."),
            "creation": moment("Creation"),
            "revocation": nullable(moment("Revocation, null while it is in force")),
        },
    ),
}
