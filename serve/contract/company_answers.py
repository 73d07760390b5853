"""Answers about companies: a page of a search and its counts (§2.2, X3), what completes a text (X4), the companies with
a number (X6), and the record of one company with its statement lines (§2.4, E5).

The company itself is stored JSON.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import orjson

from serve.contract.answers import (
    Activite,
    ActivitesComprises,
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
    Count,
    EncodedJson,
    KnownKeys,
    KnownValues,
    component,
    part,
    with_keywords,
)
from serve.contract.text import Text
from shards.codec.record import ETATS
from shards.query import STATES
from shards.search.distribution import DIMENSIONS

_SansDonnees = Annotated[
    Sequence[str] | AbsentKey,
    Text(
        "Les pays nommés par `pays` dont la base n’a aucune société, quelle que soit la "
        "recherche ; absent s’il n’y en a pas.",
        "Countries named by `pays` of which there is no company in the base, whatever the "
        "search; absent where there is none.",
    ),
]
_Inconnus = Annotated[
    Sequence[str] | AbsentKey,
    Text(
        "Les éléments de `ids` qui ne désignent aucune société, comme ils ont été envoyés ; "
        "absent sans `ids`.",
        "Items of `ids` that name no company, as they were sent; absent without `ids`.",
    ),
]


@component("Un texte que `q` voulait peut-être dire.", "A text that `q` may have meant.")
class TexteVoulu:
    q: Annotated[str, Text("Le texte.", "The text.")]
    total: Annotated[
        int,
        with_keywords(minimum=1),
        Text("Les sociétés qu’il trouve, exactement.", "Companies that it finds, exactly."),
    ]


@component(
    "Une recherche par activité ou par ville que `q` voulait peut-être dire.",
    "A search by activity or town that `q` may have meant.",
)
class RechercheProposee:
    activite: Annotated[
        str | AbsentKey, Text("La valeur pour `activite`.", "Value for `activite`.")
    ]
    ville: Annotated[str | AbsentKey, Text("La valeur pour `ville`.", "Value for `ville`.")]
    q: Annotated[
        str | AbsentKey,
        Text("Ce qui reste de `q` ; absent s’il n’en reste rien.", "What is left of `q`, if any."),
    ]
    total: Annotated[
        int,
        with_keywords(minimum=1),
        Text(
            "Les sociétés qu’elle trouve, exactement.", "Companies that the search finds, exactly."
        ),
    ]


@component("Une page d’une recherche.", "A page of a search.")
class Recherche(AnswerObject):
    total: Annotated[
        Count,
        Text(
            "Les sociétés qui répondent à la recherche, dans toute la base ; jamais tronqué.",
            "Companies that match, in the whole base; never truncated.",
        ),
    ]
    limit: Annotated[Count, Text("La limite appliquée.", "Limit that was applied.")]
    offset: Annotated[
        orjson.Fragment,  # of any size, where orjson knows 64 bits
        EncodedJson(Count),
        Text("Le décalage ; toujours 0 pour un visiteur.", "Offset; always 0 for a visitor."),
    ]
    plan: CodePlan
    plafond_resultats: Annotated[
        Count,
        Text(
            "Sociétés que l’offre peut montrer d’une recherche ; 1 000 si elle ne nomme (`ids`) que des sociétés que "
            "votre compte a rapprochées.",
            "Companies that the plan may show of one search; 1,000 if it names (`ids`) only companies that your "
            "account has matched.",
        ),
    ]
    visibles: Annotated[
        Count,
        Text(
            "Sociétés de cette recherche que l’offre peut montrer.",
            "Companies of this search that the plan may show.",
        ),
    ]
    tronque: Annotated[
        bool,
        Text(
            "Vrai si l’offre ne peut pas toutes les montrer.",
            "Whether the plan may not show them all.",
        ),
    ]
    restantes: Annotated[Count, Text("`total` moins `visibles`.", "`total` minus `visibles`.")]
    coordonnees: Annotated[
        bool,
        Text(
            "Faux : les quatre champs de coordonnées sont null.",
            "False: the four contact fields are null.",
        ),
    ]
    offre_suivante: OffreSuivante
    apercu: Annotated[
        bool,
        Text(
            "Vrai : l’appel n’est pas identifié, c’est l’aperçu d’un visiteur.",
            "True: the call is not identified, this is the preview of a visitor.",
        ),
    ]
    societes: Annotated[
        orjson.Fragment,
        EncodedJson(Sequence[Societe]),
        Text("Les sociétés, dans l’ordre demandé.", "Companies, in the order asked for."),
    ]
    plan_souscrit: CodePlan | AbsentKey = ABSENT
    outil_api: OutilApi = ABSENT
    pays_sans_donnees: _SansDonnees = ABSENT
    ids_inconnus: _Inconnus = ABSENT
    noms_trouves: Annotated[
        Mapping[str, str] | AbsentKey,
        with_keywords(examples=[{"UK:00944111": "ROYAL TOOL LIMITED"}]),
        Text(
            "Les sociétés de cette page qui n’ont `q` que dans un ancien nom, sous la forme "
            "`<iso2>:<id>`, chacune avec ce nom tel que publié ; absent s’il n’y en a pas.",
            "The companies of this page that have `q` in a former name only, as `<iso2>:<id>`, "
            "each with that name as published; absent where there is none.",
        ),
    ] = ABSENT
    vouliez_vous_dire: Annotated[
        Sequence[TexteVoulu] | AbsentKey,
        Text(
            "Seulement là où `total` est 0 à cause de `q` : 3 textes au plus qui trouvent des "
            "sociétés avec les autres filtres de cette recherche : les plus proches, ou les plus "
            "longues parties de `q` là où rien n’est proche.",
            "Only where `total` is 0 because of `q`: at most 3 texts that find companies with "
            "the other filters of this search: the nearest, or the longest parts of `q` where "
            "nothing is near.",
        ),
    ] = ABSENT
    activites_comprises: ActivitesComprises = ABSENT
    recherches_proposees: Annotated[
        Sequence[RechercheProposee] | AbsentKey,
        Text(
            "Seulement là où `total` est 0 à cause de `q` : 3 recherches au plus qui lisent ses mots "
            "comme une activité ou une ville, et trouvent des sociétés avec les autres filtres.",
            "Only where `total` is 0 because of `q`: at most 3 searches that read its words as an "
            "activity or a town, and find companies with the other filters.",
        ),
    ] = ABSENT


@component(
    "La page qu’obtient un visiteur, et pourquoi ce n’est pas plus : la clé n’est pas valable.",
    "The page that a visitor gets, and why it is no more: the key is not valid.",
)
class RechercheRefusee(Recherche):
    erreur: Erreur


@component("Les sociétés d’une valeur.", "The companies of a value.")
class Effectifs:
    valeur: Annotated[
        str | None,
        Text(
            "Comme le filtre de la dimension la prend ; null : les sociétés sans valeur.",
            "As the filter of the dimension takes it; null: companies without a value.",
        ),
    ]
    libelle: Annotated[str, Text("Le libellé, en français.", "Label, French.")]
    libelle_en: Annotated[str, Text("Le libellé, en anglais.", "Label, English.")]
    n: Annotated[Count, Text("Les sociétés.", "Companies.")]


@component("Les nombres d’une recherche.", "The counts of a search.")
class Repartition(AnswerObject):
    total: Annotated[
        Count,
        Text(
            "Les sociétés qui répondent à la recherche, dans toute la base.",
            "Companies that match, in the whole base.",
        ),
    ]
    repartitions: Annotated[
        Mapping[
            str,
            Annotated[
                Sequence[Effectifs],
                Text(
                    "Les valeurs par nombre de sociétés, décroissant.",
                    "Values by number of companies, descending.",
                ),
            ],
        ],
        KnownKeys(tuple(DIMENSIONS)),
        Text(
            "Par dimension de `par`, les valeurs qui se rencontrent.",
            "By dimension of `par`, the values that occur.",
        ),
    ]
    autres: Annotated[
        Mapping[str, Annotated[Count, Text("Les sociétés.", "Companies.")]],
        Text(
            "Les sociétés dont `limite` écarte la valeur, par dimension de `par` qui a une limite.",
            "Companies with a value that `limite` leaves out, by dimension of `par` that has a "
            "limit.",
        ),
    ]
    pays_sans_donnees: _SansDonnees = ABSENT
    ids_inconnus: _Inconnus = ABSENT
    activites_comprises: ActivitesComprises = ABSENT


@component(
    "La clé n’est pas valable : ce qu’obtient un visiteur, et `erreur`.",
    "The key is not valid: what a visitor gets, and `erreur`.",
)
class RepartitionRefusee(Repartition):
    erreur: Erreur


@component("Une société que le texte désigne peut-être.", "A company that the text may mean.")
class SocieteSuggeree:
    iso2: Annotated[str, Text("Le pays.", "Country.")]
    id: Annotated[str, Text("L’identifiant national.", "National identifier.")]
    nom: Annotated[str, Text("Le nom, tel qu’enregistré.", "Name, as registered.")]
    ville: Annotated[str | None, Text("La ville.", "Town.")]
    etat: Annotated[str, KnownValues(STATES), Text("L’état.", "State.")]


@component(
    "Un mot qui complète le dernier du texte.", "A word that completes the last one of the text."
)
class Mot:
    mot: Annotated[
        str, Text("Le mot, sans casse ni accents.", "The word, without case and accents.")
    ]
    n: Annotated[
        int,
        with_keywords(minimum=1),
        Text(
            "Les sociétés qui ont ce mot dans un nom, présent ou ancien.",
            "Companies with this word in a name, present or former.",
        ),
    ]


@component("Un secteur.", "A sector.")
class SecteurSuggere:
    slug: Annotated[str, Text("La valeur pour `secteur`.", "Value for `secteur`.")]
    secteur: Annotated[str, Text("Le nom, en français.", "Name, French.")]
    secteur_en: Annotated[str, Text("Le nom, en anglais.", "Name, English.")]


@component("Une ville.", "A town.")
class VilleSuggeree:
    ville: Annotated[
        str,
        Text(
            "La valeur pour `ville`, dans sa graphie la plus fréquente.",
            "Value for `ville`, in its most frequent spelling.",
        ),
    ]
    n: Annotated[
        int, with_keywords(minimum=1), Text("Les sociétés qui y sont.", "Companies in it.")
    ]


@component("Une activité : une classe de la NACE.", "An activity: a class of NACE.")
class ActiviteSuggeree(Activite):
    n: Annotated[
        int,
        with_keywords(minimum=1),
        Text("Les sociétés de cette activité.", "Companies of this activity."),
    ]


@component("Ce qui complète un texte.", "What completes a text.")
class Suggestions(AnswerObject):
    q: Annotated[str, Text("Le texte.", "The text.")]
    societes: Annotated[
        Sequence[SocieteSuggeree],
        Text(
            "Les sociétés, les meilleures d’abord ; 8 au plus.",
            "Companies, the best first; at most 8.",
        ),
    ]
    mots: Annotated[
        Sequence[Mot],
        Text(
            "Les mots de noms, les plus fréquents d’abord ; 5 au plus.",
            "Words of names, the most frequent first; at most 5.",
        ),
    ]
    secteurs: Annotated[
        Sequence[SecteurSuggere],
        Text(
            "Les secteurs dont le nom commence par le texte.",
            "Sectors whose name begins with the text.",
        ),
    ]
    villes: Annotated[
        Sequence[VilleSuggeree],
        Text(
            "Les villes qui commencent par le texte, les plus grandes d’abord ; 5 au plus.",
            "Towns that begin with the text, the largest first; at most 5.",
        ),
    ]
    activites: Annotated[
        Sequence[ActiviteSuggeree],
        Text(
            "Les activités dont un libellé ou un terme de l’index a les mots du texte, le dernier "
            "aussi loin qu’il est connu : celles d’un libellé d’abord, puis les plus fréquentes ; 5 au plus.",
            "Activities with a label or index term that has the words of the text, the last one as far "
            "as it is known: those of a label first, then the most frequent; at most 5.",
        ),
    ]


@component(
    "Ce qu’obtient un visiteur, et pourquoi ce n’est pas plus : la clé n’est pas valable.",
    "What a visitor gets, and why it is no more: the key is not valid.",
)
class SuggestionsRefusees(Suggestions):
    erreur: Erreur


@part("Une société.", "A company.")
class SocieteNumerotee:
    iso2: Annotated[str, Text("Le pays.", "Country.")]
    id: Annotated[
        str,
        Text(
            "L’identifiant national, comme le registre l’écrit.",
            "National identifier, as the register writes it.",
        ),
    ]
    nom: Annotated[str, Text("Le nom.", "Name.")]


@component("Les sociétés qui ont un numéro.", "The companies with a number.")
class Identification(AnswerObject):
    type: Annotated[
        str,
        KnownValues(("immatriculation", "tva", "siret", "lei")),
        Text(
            "La sorte de numéro : identifiant national, numéro de TVA, SIRET ou LEI.",
            "Kind of number: national identifier, VAT number, SIRET or LEI.",
        ),
    ]
    candidats: Annotated[
        Sequence[SocieteNumerotee],
        Text(
            "Les sociétés qui ont ce numéro, autant que l’offre en montre.",
            "The companies with this number, as many as the plan shows.",
        ),
    ]


@component(
    "La clé n’est pas valable : ce qu’obtient un visiteur, et `erreur`.",
    "The key is not valid: what a visitor gets, and `erreur`.",
)
class IdentificationRefusee(Identification):
    erreur: Erreur


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
