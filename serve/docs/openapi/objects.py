"""The schemas of companies (§2.1), statement lines (E5), accounts (D15) and changes. Pure."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from serve.contract import seed_tables
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
from shards.changes.change_file import CREATED, DELETED, NATURES
from shards.changes.net_changes import ENTERING, LEAVING
from shards.codec.record import CONTACTS

ETATS: Final = ("bilan_actif", "bilan_passif", "compte_resultat", "annexe")
ETATS_SOCIETE: Final = ("active", "procedure", "cessee", "inconnu")

_DATE: Final = r"^\d{4}(-\d{2}(-\d{2})?)?$"
_CONTACT: Final = "Null without the contact right (`coordonnees`); never approximated."
_TYPES: Final[Mapping[str, Callable[[str], Schema]]] = {
    seed_tables.TEXT: text,
    seed_tables.LINK: text,
    seed_tables.DATE: partial(text, pattern=_DATE),
    seed_tables.WHOLE: whole,
    seed_tables.YEAR: whole,
    seed_tables.AMOUNT: number,
    seed_tables.TRUTH: truth,
    seed_tables.TEXTS: texts,
}


def _field(field: seed_tables.Field) -> Schema:
    """The schema of a field of a company (serve/contract/tables/fields.csv)."""
    described = f"{field.definition['en']}." + (f" {_CONTACT}" if field.champ in CONTACTS else "")
    if field.champ == "etat":
        return one_of(described, *ETATS_SOCIETE)
    # §2.1 says `number`, though every score is whole today.
    kind = number if field.champ == "score" else _TYPES[field.genre]
    return nullable(kind(described)) if field.nullable else kind(described)


# In the order in which they are served (shards/codec/record.py); null if the register has no value.
FIELDS: Final[dict[str, Schema]] = {field.champ: _field(field) for field in seed_tables.fields()}

# §2.1: "all fields are optional in the schema".
SOCIETE: Final = shape(
    "A company (société). Every field is there on every plan, null where it is not known.",
    FIELDS,
    optional=tuple(FIELDS),
)

LIGNE: Final = shape(
    "A line of a financial statement (états financiers).",
    {
        "etat": one_of(
            "Statement: assets, equity and liabilities, income statement, or annex.", *ETATS
        ),
        "code": nullable(text("Code of the line in the filing.")),
        "libelle": text("Label of the line."),
        "valeur": nullable(number("Amount.")),
        "devise": nullable(text("Currency (ISO 4217).")),
        "exercice": whole("Fiscal year."),
        "ordre": nullable(whole("Place of the line within its statement.")),
    },
)


LIGNE_EXPORTEE: Final = shape(
    "A statement line in an export: the company that it belongs to, then the line.",
    {
        "iso2": text("Country of the company."),
        "id": text("Identifier of the company."),
        **LIGNE["properties"],
    },
)


# -- GET /api/v1/sources (X9) --------------------------------------------------------------

_DAY: Final = "ISO 8601: a day or, where no more is known, a month or a year."

SOURCES: Final[dict[str, Schema]] = {
    "Licence": shape(
        "The licence of a register's files.",
        {
            "nom": text("Name of the licence."),
            "adresse": nullable(text("Its text.")),
            "attribution": text("Words that it demands beside the data, French."),
            "attribution_en": text("The same, English."),
        },
    ),
    "FichierSource": shape(
        "A published file that was read.",
        {
            "nom": text("Name."),
            "date": text(f"Date of the file. {_DAY}"),
            "origine_date": one_of(
                "Where the date is from: the content, the name, the operator, or only the time of "
                "the last modification.",
                "contenu",
                "nom",
                "indiquee",
                "modification",
            ),
        },
    ),
    "Source": shape(
        "An import of a register.",
        {
            "source": text("Name of the importer."),
            "table": one_of("Companies or statements.", "societes", "comptes"),
            "complement": truth("Whether it only completes another source of the country."),
            "registre": text("Publisher."),
            "adresse": nullable(text("Where the files are published; null without an address.")),
            "licence": ref("Licence"),
            "importe": moment("When the files were imported"),
            "lignes": whole("Rows of this country.", minimum=0),
            "fichiers": array(ref("FichierSource"), "Files."),
        },
    ),
    "SourcesPays": shape(
        "A country: its sources, and how much of each field is known.",
        {
            "iso2": text("Code of the country."),
            "slug": text("Name for addresses."),
            "nom_fr": text("Name, French."),
            "nom_en": text("Name, English."),
            "registre": text("Name of the country's register."),
            "n_societes": whole("Companies; 0: there are no data of this country.", minimum=0),
            "date_source": nullable(
                text(f"Age of the data: oldest date of the files of companies. {_DAY}")
            ),
            "sources": array(ref("Source"), "Sources, those of companies first."),
            "champs": {
                "type": "object",
                "description": "Share of the companies that have each field, 0 to 1; `comptes`: "
                "that have statements. Empty where there is no company.",
                "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1},
            },
        },
    ),
    "ListeSources": shape(
        "Where the companies come from, and how old that is.",
        {
            "total": whole("Countries in the list.", minimum=0),
            "date_min": nullable(text(f"Oldest `date_source`. {_DAY}")),
            "date_max": nullable(text(f"Newest `date_source`. {_DAY}")),
            "pays_sans_donnees": texts("Countries without a company."),
            "pays": array(ref("SourcesPays"), "Countries."),
        },
    ),
}


# -- GET /api/v1/suggestions (X4) ----------------------------------------------------------

_SUGGESTIONS: Final[dict[str, Schema]] = {
    "q": text("The text."),
    "societes": array(ref("SocieteSuggeree"), "Companies, the best first; at most 8."),
    "mots": array(ref("Mot"), "Words of names, the most frequent first; at most 5."),
    "secteurs": array(ref("SecteurSuggere"), "Sectors whose name begins with the text."),
    "villes": array(
        ref("VilleSuggeree"), "Towns that begin with the text, the largest first; at most 5."
    ),
}
SUGGESTIONS: Final[dict[str, Schema]] = {
    "Suggestions": shape("What completes a text.", _SUGGESTIONS),
    "SuggestionsRefusees": shape(
        "What a visitor gets, and why it is no more: the key is not valid.",
        {**_SUGGESTIONS, "erreur": ref("Erreur")},
    ),
    "SocieteSuggeree": shape(
        "A company that the text may mean.",
        {
            "iso2": text("Country."),
            "id": text("National identifier."),
            "nom": text("Name, as registered."),
            "ville": nullable(text("Town.")),
            "etat": one_of("State.", *ETATS_SOCIETE),
        },
    ),
    "Mot": shape(
        "A word that completes the last one of the text.",
        {
            "mot": text("The word, without case and accents."),
            "n": whole("Companies with this word in a name, present or former.", minimum=1),
        },
    ),
    "VilleSuggeree": shape(
        "A town.",
        {
            "ville": text("Value for `ville`, in its most frequent spelling."),
            "n": whole("Companies in it.", minimum=1),
        },
    ),
    "SecteurSuggere": shape(
        "A sector.",
        {
            "slug": text("Value for `secteur`."),
            "secteur": text("Name, French."),
            "secteur_en": text("Name, English."),
        },
    ),
}


# -- GET /api/v1/compte (contract D15) ---------------------------------------------------

_LIMITS: Final = shape(
    "What the plan allows.",
    {
        "resultats_par_recherche": whole("Companies that a search may show."),
        "lignes_par_appel": whole("Companies a call."),
        "appels_api_par_minute": whole("Calls a minute, over a longer time."),
        "appels_api_par_jour": whole("Calls a day."),
        "exports_par_mois": whole("Exports a month."),
        "lignes_par_export": whole("Companies an export."),
        "societes_avec_comptes_par_export": whole("Companies with statements an export."),
        "credits_par_mois": whole("Credits a month."),
        "cles_actives": whole("Keys in force at once."),
        "coordonnees": truth("Contact fields are served."),
        "etats_financiers": truth("Financial statements are served."),
        "essais_par_mois": whole("Analyses a month that may be tried without their module."),
    },
)

COMPTE: Final = shape(
    "What the organisation behind a key may do, and has done.",
    {
        "compte": shape(
            "The account.",
            {
                "id": text("Name of the account."),
                "nom": text("Name of the organisation."),
                "modules": texts("Modules of a custom plan."),
                "creation": moment("Creation"),
            },
        ),
        "plan": ref("CodePlan"),
        "plan_souscrit": ref("CodePlan"),
        "outil_api": truth("The plan paid for has the API tool."),
        "limites": _LIMITS,
        "compteurs": shape(
            "The counters.",
            {name: ref("Quota") for name in ("appels_jour", "exports_mois", "essais_mois")},
        ),
        "credits": shape(
            "The credits.",
            {
                "dotation": whole("Credits of the month."),
                "utilises": whole("Used of them."),
                "packs": whole("Left of packs that were bought, which do not end with the month."),
                "restants": whole("Left, packs included."),
                "reinitialisation": moment("When the credits of the month come again"),
            },
        ),
        "cles": array(ref("Cle"), "Keys, revoked ones included."),
        "offre_suivante": either(ref("Offre"), {"type": "null"}),
    },
)


# -- GET /api/v1/modifications: changes since a generation --------------------------------

_GENERATION: Final = "Name of data (generation), as in `X-Donnees-Version`: "

_PAGE: Final[dict[str, Schema]] = {
    "depuis": text(f"{_GENERATION}the one asked for."),
    "jusque": text(f"{_GENERATION}after these changes; the next `depuis`."),
    "generation": text(f"{_GENERATION}the one served; where `jusque` is it, that is all."),
    "total": whole("Changes in the scope; never truncated.", minimum=0),
    "limit": whole("Limit that was applied.", minimum=0),
    "plan": ref("CodePlan"),
    "plafond_resultats": whole(
        "New and changed companies that the plan may show; those that are gone, and one's own, "
        "are all shown.",
        minimum=0,
    ),
    "visibles": whole("Changes that the plan may show.", minimum=0),
    "tronque": truth("Whether the plan may not show them all."),
    "restantes": whole("`total` minus `visibles`.", minimum=0),
    "offre_suivante": either(ref("Offre"), {"type": "null"}),
    "suivant": nullable(text("`curseur` of the next page; null on the last one.")),
}

CHANGES: Final[dict[str, Schema]] = {
    "Modification": shape(
        "A company that is gone (`supprimee`), new (`creee`) or changed (`modifiee`).",
        {
            "nature": one_of("Kind of change.", *NATURES),
            "iso2": text("Country of the company."),
            "id": text("National identifier."),
            "champs": texts(
                "Only of a changed company: the fields that differ; `comptes` stands for its "
                "financial statements."
            ),
        },
        ("champs",),
    ),
    "Modifications": shape(
        "A page of what changed from one generation to the next on the way to the one served.",
        {**_PAGE, "modifications": array(ref("Modification"), "Changes: gone, new, changed.")},
    ),
    "ModificationSuivie": shape(
        "What happened to a company that is watched, or that a watched search finds.",
        {
            "nature": one_of(
                "One's own companies: gone (`supprimee`), new (`creee`), changed (`modifiee`). Of "
                "a search: found no more (`sortie`), found now (`entree`), found before and now "
                "(`modifiee`).",
                *NATURES,
                LEAVING,
                ENTERING,
            ),
            "iso2": text("Country of the company."),
            "id": text("National identifier."),
            "champs": {
                "type": "object",
                "description": "The fields that differ, each with its values before and after; "
                "`comptes`: whether there are financial statements, which differ. Values of "
                "contact fields are null without the right to them. Absent where the company is "
                "new or gone.",
                "additionalProperties": {
                    "type": "array",
                    "items": {},
                    "minItems": 2,
                    "maxItems": 2,
                },
            },
            "cause": either(
                one_of("It is new, or gone.", CREATED, DELETED),
                texts("Those of the changed fields that the search compares."),
            ),
        },
        ("champs", "cause"),
    ),
    "ModificationsSuivies": shape(
        "A page of what happened from `depuis` to `jusque`, whatever lay between them.",
        {
            **_PAGE,
            "modifications": array(ref("ModificationSuivie"), "Changes: gone, new, changed."),
            "ids_inconnus": texts("Where `ids` were sent: those of no company."),
        },
        ("ids_inconnus",),
    ),
}
