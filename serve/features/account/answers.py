"""GET /compte: what an organisation may do, and has done (contract D15)."""

from collections.abc import Sequence
from typing import Annotated

from serve.contract.answers import CodePlan, OffreSuivante, Quota
from serve.contract.declaration import AnswerObject, Moment, component, part
from serve.contract.text import Text


@component("Une clé, qui n’est plus jamais montrée.", "A key, which is never shown again.")
class Cle:
    id: Annotated[str, Text("Le nom de la clé.", "Name of the key.")]
    libelle: Annotated[str, Text("Le libellé.", "Label.")]
    fin: Annotated[str, Text("Les quatre derniers caractères.", "Last four characters.")]
    creation: Annotated[Moment, Text("La création (UTC, ISO 8601).", "Creation (UTC, ISO 8601).")]
    revocation: Annotated[
        Moment | None,
        Text(
            "La révocation, null tant qu’elle est valable (UTC, ISO 8601).",
            "Revocation, null while it is in force (UTC, ISO 8601).",
        ),
    ]


@part("Le compte.", "The account.")
class Organisation:
    id: Annotated[str, Text("Le nom du compte.", "Name of the account.")]
    nom: Annotated[str, Text("Le nom de l’organisation.", "Name of the organisation.")]
    modules: Annotated[
        Sequence[str], Text("Les modules d’une offre à la carte.", "Modules of a custom plan.")
    ]
    creation: Annotated[Moment, Text("La création (UTC, ISO 8601).", "Creation (UTC, ISO 8601).")]


@part("Ce que l’offre permet.", "What the plan allows.")
class Limites:
    resultats_par_recherche: Annotated[
        int, Text("Sociétés qu’une recherche peut montrer.", "Companies that a search may show.")
    ]
    lignes_par_appel: Annotated[int, Text("Sociétés par appel.", "Companies a call.")]
    appels_api_par_minute: Annotated[
        int,
        Text(
            "Appels par minute, sur une durée plus longue.", "Calls a minute, over a longer time."
        ),
    ]
    appels_api_par_jour: Annotated[int, Text("Appels par jour.", "Calls a day.")]
    exports_par_mois: Annotated[int, Text("Exports par mois.", "Exports a month.")]
    lignes_par_export: Annotated[int, Text("Sociétés par export.", "Companies an export.")]
    societes_avec_comptes_par_export: Annotated[
        int, Text("Sociétés avec comptes par export.", "Companies with statements an export.")
    ]
    credits_par_mois: Annotated[int, Text("Crédits par mois.", "Credits a month.")]
    cles_actives: Annotated[int, Text("Clés en vigueur à la fois.", "Keys in force at once.")]
    coordonnees: Annotated[
        bool, Text("Les coordonnées sont servies.", "Contact fields are served.")
    ]
    etats_financiers: Annotated[
        bool, Text("Les comptes sont servis.", "Financial statements are served.")
    ]
    essais_par_mois: Annotated[
        int,
        Text(
            "Analyses par mois qui peuvent être essayées sans leur module.",
            "Analyses a month that may be tried without their module.",
        ),
    ]


@part("Les compteurs.", "The counters.")
class Compteurs:
    appels_jour: Quota
    exports_mois: Quota
    essais_mois: Quota


@part("Les crédits.", "The credits.")
class CreditsDuMois:
    dotation: Annotated[int, Text("Les crédits du mois.", "Credits of the month.")]
    utilises: Annotated[int, Text("Ce qui en est utilisé.", "Used of them.")]
    packs: Annotated[
        int,
        Text(
            "Ce qui reste de packs achetés, qui ne finissent pas avec le mois.",
            "Left of packs that were bought, which do not end with the month.",
        ),
    ]
    restants: Annotated[int, Text("Ce qui reste, packs compris.", "Left, packs included.")]
    reinitialisation: Annotated[
        Moment,
        Text(
            "Le moment où les crédits du mois reviennent (UTC, ISO 8601).",
            "When the credits of the month come again (UTC, ISO 8601).",
        ),
    ]


@component(
    "Ce que l’organisation derrière une clé peut faire, et a fait.",
    "What the organisation behind a key may do, and has done.",
)
class Compte(AnswerObject):
    compte: Organisation
    plan: CodePlan
    plan_souscrit: CodePlan
    outil_api: Annotated[
        bool, Text("L’offre payée a l’outil API.", "The plan paid for has the API tool.")
    ]
    limites: Limites
    compteurs: Compteurs
    credits: CreditsDuMois
    cles: Annotated[
        Sequence[Cle], Text("Les clés, révoquées comprises.", "Keys, revoked ones included.")
    ]
    offre_suivante: OffreSuivante
