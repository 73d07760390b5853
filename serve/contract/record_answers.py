"""The record of a company, and its statement lines (§2.4, E5); the company itself is stored JSON."""

from collections.abc import Sequence
from typing import Annotated

import orjson

from serve.contract.answers import (
    CodePlan,
    CoutEtSolde,
    Erreur,
    OffreSuivante,
    OutilApi,
    Societe,
)
from serve.contract.declaration import (
    ABSENT,
    AbsentKey,
    AnswerObject,
    EncodedJson,
    KnownValues,
    component,
    part,
)
from serve.contract.text import Text
from shards.codec.record import ETATS


@component("Une ligne d’un état financier.", "A line of a financial statement (états financiers).")
class LigneComptes:
    etat: Annotated[
        str,
        KnownValues(ETATS),
        Text(
            "L’état financier : bilan (actif ou passif), compte de résultat ou annexe.",
            "Statement: assets, equity and liabilities, income statement, or annex.",
        ),
    ]
    code: Annotated[
        str | None, Text("Le code de la ligne dans le dépôt.", "Code of the line in the filing.")
    ]
    libelle: Annotated[str, Text("Le libellé de la ligne.", "Label of the line.")]
    valeur: Annotated[float | None, Text("Le montant.", "Amount.")]
    devise: Annotated[str | None, Text("La devise (ISO 4217).", "Currency (ISO 4217).")]
    exercice: Annotated[int, Text("L’exercice.", "Fiscal year.")]
    ordre: Annotated[
        int | None,
        Text("Le rang de la ligne dans son état.", "Place of the line within its statement."),
    ]


@part("La clé d’une société.", "The key of a company.")
class _CompanyKey:
    iso2: Annotated[str, Text("Le pays de la société.", "Country of the company.")]
    id: Annotated[str, Text("L’identifiant de la société.", "Identifier of the company.")]


@component(
    "Une ligne de comptes dans un export : la société à laquelle elle appartient, puis la ligne.",
    "A statement line in an export: the company that it belongs to, then the line.",
)
class LigneComptesExportee(LigneComptes, _CompanyKey):
    """The fields of the key come first."""


@component("Les droits de cette réponse.", "Rights of this answer.")
class Droits:
    etats_financiers: Annotated[
        bool, Text("Les comptes sont servis.", "Financial statements are served.")
    ]
    coordonnees: Annotated[
        bool, Text("Les coordonnées sont servies.", "Contact fields are served.")
    ]


@component("La fiche d’une société.", "The record of a company.")
class Fiche(AnswerObject):
    societe: Annotated[orjson.Fragment, EncodedJson(Societe)]
    plan: CodePlan
    comptes: Annotated[
        orjson.Fragment | AbsentKey,
        EncodedJson(Sequence[LigneComptes]),
        Text(
            "Les lignes des comptes de 5 exercices au plus, les plus récents d’abord ; vide si "
            "aucune n’est connue. Absent là où il y a `comptes_message`.",
            "Lines of the financial statements of up to 5 fiscal years, newest first; empty "
            "where none are known. Absent where `comptes_message` is there.",
        ),
    ] = ABSENT
    comptes_message: Annotated[
        str | AbsentKey,
        Text(
            "Pourquoi il n’y a pas de `comptes` : l’offre n’y donne pas droit. Dans la langue d’`Accept-Language`.",
            "Why there is no `comptes`: the plan gives no right to them. In the language of `Accept-Language`.",
        ),
    ] = ABSENT
    droits: Droits
    offre_suivante: OffreSuivante
    plan_souscrit: CodePlan | AbsentKey = ABSENT
    outil_api: OutilApi = ABSENT


@component(
    "La fiche qu’obtient un visiteur, et pourquoi ce n’est pas plus : la clé n’est pas valable.",
    "The record that a visitor gets, and why it is no more: the key is not valid.",
)
class FicheRefusee(Fiche):
    erreur: Erreur


@component(
    "Ce qui reste d’une fiche qui ne peut être débitée maintenant : l’identité publique. "
    "Rien n’est débité.",
    "What is left of a record that cannot be charged now: the public identity. Nothing is.",
)
class FicheIndisponible:
    erreur: Erreur
    societe: Societe
    plan: CodePlan
    comptes_message: Annotated[
        str,
        Text(
            "Pourquoi il n’y a pas de `comptes` : l’offre n’y donne pas droit. Dans la langue d’`Accept-Language`.",
            "Why there is no `comptes`: the plan gives no right to them. In the language of `Accept-Language`.",
        ),
    ]
    droits: Droits
    offre_suivante: OffreSuivante
    plan_souscrit: CodePlan | AbsentKey = ABSENT
    outil_api: OutilApi = ABSENT


@component(
    "Ce qui reste d’une fiche quand les crédits sont épuisés : l’identité publique.",
    "What is left of a record when the credits are used up: the public identity.",
)
class FicheEpuisee(FicheIndisponible):
    credits: CoutEtSolde
