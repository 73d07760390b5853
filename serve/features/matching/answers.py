"""The answers to a list that is matched (X5), and those of the service for OpenRefine."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from serve.contract.answers import Erreur
from serve.contract.declaration import (
    AbsentKey,
    AnswerObject,
    Component,
    KnownValues,
    component,
    part,
    with_keywords,
)
from serve.contract.reasons import RAISONS
from serve.contract.text import Text
from shards.matching.line import AMBIGUOUS, LIKELY, NONE, SURE


@component("Une société que la ligne désigne peut-être.", "A company that the line may mean.")
class Candidat:
    iso2: Annotated[str, Text("Le pays.", "Country.")]
    id: Annotated[str, Text("L’identifiant.", "Identifier.")]
    nom: Annotated[str, Text("Le nom.", "Name.")]
    ville: Annotated[str | None, Text("La ville.", "Town.")]
    code_postal: Annotated[str | None, Text("Le code postal.", "Postcode.")]
    etat: Annotated[
        str | None,
        Text(
            "L’état : `active`, `procedure`, `cessee` ou `inconnu`.",
            "State: `active`, `procedure`, `cessee` or `inconnu`.",
        ),
    ]
    note: Annotated[
        float,
        with_keywords(minimum=0, maximum=1),
        Text(
            "La probabilité que la ligne désigne cette société, calibrée sur des noms de vrais "
            "registres.",
            "Probability that the line means this company, calibrated on names of real registers.",
        ),
    ]
    raisons: Annotated[
        Sequence[str],
        Text(
            "Ce qui concorde et ce qui diffère, dans la langue d’`Accept-Language`.",
            "What agrees and what differs, in the language of `Accept-Language`.",
        ),
    ]
    raisons_codes: Annotated[
        Sequence[
            Annotated[
                str,
                KnownValues(tuple(RAISONS), closed=True),
                Text("Le code d’une raison.", "Code of a reason."),
            ]
        ],
        Text("Leurs codes, dans cet ordre.", "Their codes, in that order."),
    ]


@component("La réponse à une ligne qui a été rapprochée.", "The answer to a line that was matched.")
class LigneRapprochee:
    cle: Annotated[str, Text("La clé de la ligne.", "Key of the line.")]
    verdict: Annotated[
        str,
        with_keywords(examples=[SURE, LIKELY, AMBIGUOUS, NONE]),
        Text(
            "`sur` : cette société ; `probable` : plutôt oui que non ; `ambigu` : peut-être "
            "l’une de celles-ci ; `aucun` : aucune qui soit vraisemblable.",
            "`sur`: this company; `probable`: more likely than not; `ambigu`: perhaps one of these; "
            "`aucun`: none that is likely.",
        ),
    ]
    candidats: Annotated[
        Sequence[Candidat],
        Text("Les sociétés, les plus vraisemblables d’abord.", "Companies, the likeliest first."),
    ]
    valeurs: Annotated[
        Mapping[str, Any] | None,
        Text(
            "Les valeurs des champs de `colonnes` de la première société, si le verdict est `sur` ou "
            "`probable`.",
            "Values of the fields of `colonnes` of the first company, where the verdict is `sur` or "
            "`probable`.",
        ),
    ] = None


@component(
    "La réponse à une ligne qui ne peut être rapprochée, et qui ne coûte rien.",
    "The answer to a line that cannot be matched, which costs nothing.",
)
class LigneRefusee:
    cle: Annotated[
        str | None, Text("La clé de la ligne, si elle en a une.", "Key of the line, if it has one.")
    ]
    erreur: Erreur


@component("Les réponses.", "The answers.")
class Rapprochement(AnswerObject):
    resultats: Annotated[
        Sequence[LigneRapprochee | LigneRefusee],
        Text("Une réponse par ligne, dans l’ordre.", "An answer for each line, in order."),
    ]


@component(
    "Les réponses qu’obtient un visiteur, et pourquoi il n’y en a pas plus : la clé "
    "n’est pas valable.",
    "The answers that a visitor gets, and why they are no more: the key is not valid.",
)
class RapprochementRefuse(Rapprochement):
    erreur: Erreur


# -- the service /api/v1/reconciliation: the answers of the Reconciliation Service API 0.2 ----------

_Id = Annotated[str, Text("L’identifiant.", "Identifier.")]
_Nom = Annotated[str, Text("Le nom.", "Name.")]


@part("Le type de toutes les entités.", "The type of all entities.")
class TypeEntite:
    id: _Id
    name: _Nom


@part("Un champ.", "A field.")
class ChampPropose:
    id: _Id
    name: _Nom


@part("Où quelque chose est suggéré.", "Where something is suggested.")
class AdresseService:
    service_url: Annotated[str, Text("L’adresse du service.", "Address of the service.")]
    service_path: Annotated[str, Text("Le chemin en dessous.", "Path below it.")]


@part("La page d’une entité.", "The page of an entity.")
class Vue:
    url: Annotated[str, Text("L’adresse, avec `{{id}}`.", "Address with `{{id}}`.")]


@part("Quelques lignes sur une entité.", "A few lines about an entity.")
class ApercuEntite:
    url: Annotated[str, Text("L’adresse, avec `{{id}}`.", "Address with `{{id}}`.")]
    width: Annotated[int, Text("La largeur, en pixels.", "Width, in pixels.")]
    height: Annotated[int, Text("La hauteur, en pixels.", "Height, in pixels.")]


@part("Ce qui peut être suggéré.", "What can be suggested.")
class Suggerable:
    entity: AdresseService
    property: AdresseService
    type: AdresseService


@part("Les valeurs de champs.", "Values of fields.")
class Extension:
    propose_properties: AdresseService
    property_settings: Annotated[
        Sequence[Mapping[str, Any]],
        Text("Les réglages des champs : aucun.", "Settings of fields: none."),
    ]


@component("Le manifeste du service.", "The manifest of the service.")
class Reconciliation:
    versions: Annotated[
        Sequence[str], Text("Les versions du protocole.", "Versions of the protocol.")
    ]
    name: Annotated[str, Text("Le nom du service.", "Name of the service.")]
    identifierSpace: Annotated[  # noqa: N815
        str,
        Text(
            "L’adresse dont relèvent les identifiants.",
            "Address that identifiers belong to.",
        ),
    ]
    schemaSpace: Annotated[  # noqa: N815
        str, Text("L’adresse dont relèvent les champs.", "Address that fields belong to.")
    ]
    documentation: Annotated[str, Text("La documentation.", "Documentation.")]
    defaultTypes: Annotated[  # noqa: N815
        Sequence[TypeEntite],
        Text("Les types d’entités : `societe`.", "Types of entities: `societe`."),
    ]
    batchSize: Annotated[  # noqa: N815
        int,
        with_keywords(minimum=1),
        Text(
            "Les requêtes d’un lot qui reçoivent une réponse.",
            "Queries of a batch that are answered.",
        ),
    ]
    view: Vue
    preview: ApercuEntite
    suggest: Suggerable
    extend: Extension


@part("Un trait.", "A feature.")
class Trait:
    id: Annotated[
        str,
        Text(
            "Le trait : `note`, ou le code de `raisons_codes` d’une valeur qui n’a pu être lue.",
            "The feature: `note`, or the code of `raisons_codes` of a value that could not be read.",
        ),
    ]
    value: Annotated[float | bool, Text("Sa valeur.", "Its value.")]


@component(
    "Une société que la requête peut désigner.",
    "A company that a query may mean.",
    name="ReconciliationCandidat",
)
class CandidatReconciliation:
    id: Annotated[str, Text("La société : `UK:00944111`.", "The company: `UK:00944111`.")]
    name: _Nom
    description: Annotated[str, Text("La ville, le pays et l’état.", "Town, country and state.")]
    type: Annotated[Sequence[TypeEntite], Text("Son type.", "Its type.")]
    score: Annotated[
        float,
        Text(
            "La probabilité que ce soit la société, de 0 à 100.",
            "Probability that it is the company, 0 to 100.",
        ),
    ]
    match: Annotated[bool, Text("Si c’est sûr.", "Whether it is sure.")]
    features: Annotated[
        Sequence[Trait], Text("La probabilité, de 0 à 1.", "The probability, 0 to 1.")
    ]


@part("Les candidats d’une requête.", "The candidates of a query.")
class CandidatsRequete:
    result: Annotated[
        Sequence[CandidatReconciliation],
        Text("Les candidats, le plus probable d’abord.", "Candidates, the likeliest first."),
    ]
    erreur: Erreur | AbsentKey


ReconciliationResultats = Annotated[
    Mapping[str, CandidatsRequete],
    Component("ReconciliationResultats"),
    Text("Par nom de requête, ses candidats.", "By the name of each query, its candidates."),
]


@component("Les valeurs de champs de sociétés.", "Values of fields of companies.")
class ReconciliationValeurs:
    meta: Annotated[
        Sequence[ChampPropose],
        Text("Les champs, dans l’ordre demandé.", "The fields, in the order asked for."),
    ]
    rows: Annotated[
        Mapping[str, Mapping[str, Any]],
        Text(
            "Par société, puis par champ, ses valeurs : `str`, `int` ou `float`.",
            "By company, then by field, its values: `str`, `int` or `float`.",
        ),
    ]


@component("Les champs qui peuvent être demandés.", "The fields that can be asked for.")
class ReconciliationChamps:
    type: Annotated[str, Text("Le type : `societe`.", "The type: `societe`.")]
    properties: Annotated[Sequence[ChampPropose], Text("Les champs.", "The fields.")]
    limit: Annotated[
        int | AbsentKey,
        Text(
            "La limite envoyée ; absente sans elle.",
            "The limit that was sent; absent without it.",
        ),
    ]


@part("Une société, un champ ou un type.", "A company, a field or a type.")
class Suggestion:
    id: _Id
    name: _Nom
    description: Annotated[
        str | AbsentKey, Text("Ce qui le distingue des autres.", "What tells it from others.")
    ]
    notable: Annotated[
        Sequence[TypeEntite] | AbsentKey,
        Text("D’une société : son type.", "Of a company: its type."),
    ]


@component("Ce qui commence par un texte.", "What begins with a text.")
class ReconciliationSuggestions:
    result: Annotated[Sequence[Suggestion], Text("Les suggestions.", "The suggestions.")]


# A key that is not valid: what a visitor gets, and `erreur` beside it.
ReconciliationRefusee = Annotated[
    Mapping[str, Any],
    Text("Ce que reçoit un visiteur, et `erreur`.", "What a visitor gets, and `erreur`."),
]
ReconciliationReponse = Reconciliation | ReconciliationResultats | ReconciliationValeurs
