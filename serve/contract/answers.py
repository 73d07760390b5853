"""Objects that several answers have: the plan and the next one, an error, the figures of a limit."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final

import orjson

from quota.plans import SLUGS
from serve.contract import seed_tables
from serve.contract.declaration import (
    AbsentKey,
    Component,
    Count,
    EncodedJson,
    KnownValues,
    Moment,
    component,
    part,
)
from serve.contract.text import Text

_VISITOR: Final = "visiteur"

CodePlan = Annotated[
    str,
    Component("CodePlan"),
    KnownValues(SLUGS),
    Text(
        "Une offre. `plan` est celle qui est servie ; là où il lui manque l’outil API, "
        "`plan_souscrit` est celle qui est payée.",
        "A plan. `plan` is the one that is served; where the API tool is missing to it, "
        "`plan_souscrit` is the one that is paid for.",
    ),
]
# With `plan_souscrit`, where the plan that is paid for lacks the API tool (contract A7).
OutilApi = Annotated[
    bool | AbsentKey,
    Text(
        "Faux là où l’outil API manque à l’offre payée.",
        "False where the API tool (outil API) is missing to the plan paid for.",
    ),
]
# A company as it is stored; serve/contract/tables/fields.csv describes its fields.
Societe = Annotated[Mapping[str, Any], Component("Societe")]


@component(
    "Une classe de la NACE que des mots désignent.", "A class of NACE that words name (activité)."
)
class Activite:
    nace: Annotated[str, Text("La valeur pour `nace`.", "Value for `nace`.")]
    libelle: Annotated[str, Text("Le libellé, en français.", "Label, French.")]
    libelle_en: Annotated[str, Text("Le libellé, en anglais.", "Label, English.")]


def activities_of(classes: Iterable[str]) -> list[Activite]:
    """Classes of NACE with their labels."""
    named = ((code, *seed_tables.activity_labels(code)) for code in classes)
    return [Activite(nace=code, libelle=fr, libelle_en=en) for code, fr, en in named]


# The classes that `activite` names (X13).
ActivitesComprises = Annotated[
    Sequence[Activite] | AbsentKey,
    Text(
        "Les classes que les mots d’`activite` désignent ; absent sans `activite`.",
        "Classes that the words of `activite` name; absent without it.",
    ),
]


@component(
    "L’offre suivante, avec son prix et ses chiffres.",
    "The next plan up (offre suivante), with its price and figures.",
)
class Offre:
    plan: Annotated[
        str,
        KnownValues(tuple(slug for slug in SLUGS if slug != _VISITOR)),
        Text("L’offre.", "Plan."),
    ]
    nom: Annotated[str, Text("Le nom, en français.", "Name, French.")]
    nom_en: Annotated[str, Text("Le nom, en anglais.", "Name, English.")]
    prix_mensuel_eur: Annotated[
        float,
        Text(
            "Le prix d’un mois payé au mois, en euros hors taxes ; payé à l’année, 10 % de moins.",
            "Price of a month billed monthly, in euros before VAT; annual billing costs 10 % less.",
        ),
    ]
    prix_annuel_eur: Annotated[
        float,
        Text(
            "Le prix d’une année payée d’avance, en euros hors taxes.",
            "Price of a year paid in advance, in euros before VAT.",
        ),
    ]
    resultats_par_recherche: Annotated[
        int, Text("Sociétés qu’une recherche peut montrer.", "Companies that a search may show.")
    ]
    exports_par_mois: Annotated[int, Text("Exports par mois.", "Exports a month.")]
    lignes_par_export: Annotated[int, Text("Sociétés par export.", "Companies an export.")]
    appels_api_par_jour: Annotated[int, Text("Appels de l’API par jour.", "API calls a day.")]
    lignes_par_appel: Annotated[int, Text("Sociétés par appel.", "Companies a call.")]
    societes_avec_comptes_par_export: Annotated[
        int, Text("Sociétés avec comptes par export.", "Companies with statements an export.")
    ]
    coordonnees: Annotated[
        bool, Text("Les coordonnées sont servies.", "Contact fields are served.")
    ]
    etats_financiers: Annotated[
        bool, Text("Les comptes sont servis.", "Financial statements are served.")
    ]
    url: Annotated[
        str,
        KnownValues(("/inscription", "/tarifs")),
        Text("Où l’obtenir.", "Where it is to be had."),
    ]


@component(
    "Ce qui n’a pas marché. `code` est pour les programmes et stable, `message` pour les "
    "personnes.",
    "What went wrong. `code` is for programs and stable, `message` for people.",
)
class Erreur:
    code: Annotated[str, Text("Le code de l’erreur.", "Code of the error.")]
    message: Annotated[str, Text("Ce que c’est, et que faire.", "What it is, and what to do.")]


@component(
    "Ce que coûte une fiche complète, et ce qu’il y a.",
    "What a full record costs, and what there is.",
    name="Credits",
)
class CoutEtSolde:
    cout: Annotated[int, Text("Les crédits que la fiche coûte.", "Credits that the record costs.")]
    solde: Annotated[int, Text("Les crédits restants.", "Credits left.")]
    reinitialisation: Annotated[
        Moment,
        Text(
            "Le moment où les crédits du mois reviennent (UTC, ISO 8601).",
            "When the credits of the month come again (UTC, ISO 8601).",
        ),
    ]


@component("La limite qui est atteinte.", "The limit that was reached.")
class Quota:
    type: Annotated[
        str,
        KnownValues(("appels_jour", "exports_mois", "essais_mois", "debit")),
        Text(
            "Laquelle : appels du jour, exports ou essais du mois, ou la limite de débit.",
            "Which: calls a day, exports or trials a month, or the burst limit.",
        ),
    ]
    limite: Annotated[int, Text("La limite.", "Limit.")]
    utilise: Annotated[int, Text("Utilisé.", "Used.")]
    restant: Annotated[Count, Text("Restant.", "Left.")]
    reinitialisation: Annotated[
        Moment,
        Text(
            "Le moment de la remise à zéro (UTC, ISO 8601).", "When it begins anew (UTC, ISO 8601)."
        ),
    ]


# Words that tell why a figure is null (serve/contract/reasons.py); its code stands in `motif_code`.
Motif = Annotated[
    str | None,
    Text(
        "Pourquoi une valeur est null, dans la langue d’`Accept-Language` ; null si aucune "
        "ne l’est.",
        "Why something is null, in the language of `Accept-Language`; null where nothing is.",
    ),
]

# JSON of the next plan, which is the same for all answers to a caller.
OffreSuivante = Annotated[orjson.Fragment, EncodedJson(Offre | None)]


@part("Une société.", "A company.")
class SocieteNommee:
    iso2: Annotated[str, Text("Le pays.", "Country.")]
    id: Annotated[str, Text("L’identifiant national.", "National identifier.")]
    nom: Annotated[str, Text("Le nom.", "Name.")]


@part("Ce qui peut être à côté d’`erreur`.", "What may stand beside `erreur`.")
class DetailsErreur:
    pays_inconnus: Annotated[
        Sequence[str], Text("Les pays inconnus.", "Countries that are unknown.")
    ]
    secteurs_inconnus: Annotated[
        Sequence[str], Text("Les secteurs inconnus.", "Sectors that are unknown.")
    ]
    sous_secteurs_inconnus: Annotated[
        Sequence[str], Text("Les sous-secteurs inconnus.", "Sub-sectors that are unknown.")
    ]
    formes_inconnues: Annotated[
        Sequence[str],
        Text("Les formes juridiques inconnues.", "Legal forms that are unknown."),
    ]
    nace_inconnus: Annotated[
        Sequence[str], Text("Les codes NACE inconnus.", "NACE codes that are unknown.")
    ]
    activites_inconnues: Annotated[
        Sequence[str],
        Text("Les mots qui ne désignent aucune activité.", "Words that name no activity."),
    ]
    suggestions: Annotated[
        Mapping[str, Sequence[str]],
        Text(
            "Pour une valeur inconnue, celles qui étaient peut-être voulues.",
            "For an unknown value, those that may have been meant.",
        ),
    ]
    parametre: Annotated[str, Text("Le paramètre inutilisable.", "Parameter that cannot be used.")]
    valeurs: Annotated[
        Sequence[str], Text("Les valeurs qu’il peut avoir.", "Values that it may have.")
    ]
    parametres_inconnus: Annotated[
        Sequence[str], Text("Les paramètres inconnus.", "Parameters that are unknown.")
    ]
    parametres_admis: Annotated[
        Sequence[str], Text("Les paramètres que la route a.", "Parameters that the route has.")
    ]
    proches: Annotated[
        Sequence[str],
        Text(
            "Les sociétés les plus proches, par pays et identifiant (`UK:00944111`).",
            "The nearest companies, as country and identifier (`UK:00944111`).",
        ),
    ]
    supprimee_le: Annotated[
        str | None,
        Text(
            "D’une société disparue : la date des données qui ne l’ont plus ; null si elle n’est plus connue.",
            "Of a company removed from the data: the date of the data without it; null if not known any more.",
        ),
    ]
    credits: CoutEtSolde
    quota: Quota
    module: Annotated[str, Text("Le module que l’offre n’a pas.", "Module that the plan lacks.")]
    offre: Annotated[str, Text("L’offre qui ouvre le module.", "Plan that opens the module.")]
    outil_api: Annotated[
        bool,
        Text(
            "Faux si c’est la vôtre, et qu’il y manque l’outil API.",
            "False where it is your own plan, and the API tool is missing.",
        ),
    ]
    version: Annotated[str, Text("La génération demandée.", "Generation that was asked for.")]
    versions: Annotated[
        Sequence[str],
        Text(
            "Les générations qui peuvent être demandées.",
            "Generations that can be asked for.",
        ),
    ]
    analyses: Annotated[
        int, Text("Analyses que l’essai permet.", "Analyses that the trial allows.")
    ]
    reinitialisation: Annotated[
        Moment,
        Text(
            "Le moment de la remise à zéro (UTC, ISO 8601).", "When it begins anew (UTC, ISO 8601)."
        ),
    ]
