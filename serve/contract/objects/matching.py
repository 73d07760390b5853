"""The answers to a list that is matched (X5)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from serve.contract.objects.common import Erreur
from serve.contract.objects.described import AnswerObject, KnownValues, component, with_keywords
from serve.contract.reasons import RAISONS
from serve.contract.text import Text
from shards.search.matching.line import AMBIGUOUS, LIKELY, NONE, SURE


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
                KnownValues(tuple(RAISONS)),
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
            "`sur` : cette société ; `probable` : plutôt oui que non ; `ambigu` : l’une de "
            "plusieurs ; `aucun` : aucune qui soit vraisemblable.",
            "`sur`: this company; `probable`: more likely than not; `ambigu`: one of several; "
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
