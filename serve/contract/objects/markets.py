"""The analysis of a market: the companies of a search as a whole (X11)."""

from collections.abc import Sequence
from typing import Annotated

from serve.contract.objects.analyses import P25, P75, FormuleCode, Mediane, RatioDecrit
from serve.contract.objects.common import (
    ActivitesComprises,
    CodePlan,
    Motif,
    OffreSuivante,
    SocieteNommee,
)
from serve.contract.objects.declaration import (
    ABSENT,
    AbsentKey,
    AnswerObject,
    Count,
    component,
    part,
)
from serve.contract.text import Text

_P10 = Annotated[float | None, Text("Le quantile 0,10.", "Quantile 0.10.")]
_P90 = Annotated[float | None, Text("Le quantile 0,90.", "Quantile 0.90.")]
_MotifCode = Annotated[
    str | None,
    Text(
        "Le code de `motif` : `aucune_societe`, `aucun_ca`, `aucun_ca_positif`, `aucun_ratio`.",
        "Code of `motif`: `aucune_societe`, `aucun_ca`, `aucun_ca_positif`, `aucun_ratio`.",
    ),
]


@part("Les chiffres d’affaires, en euros.", "The turnovers, in euros.")
class Taille:
    avec_ca: Annotated[
        Count, Text("Les sociétés qui ont un chiffre d’affaires.", "Companies with a turnover.")
    ]
    ca_total: Annotated[float | None, Text("La somme.", "Sum.")]
    p10: _P10
    p25: P25
    mediane: Mediane
    p75: P75
    p90: _P90
    motif: Motif = None
    motif_code: _MotifCode


@part(
    "Les parts dans la somme de tous les chiffres d’affaires positifs.",
    "Shares in the sum of all positive turnovers.",
)
class PartsDuMarche:
    hhi: Annotated[
        float | None,
        Text(
            "Herfindahl-Hirschman : la somme des pourcentages au carré, de 0 à 10 000.",
            "Herfindahl-Hirschman: sum of squared percentages, 0 to 10 000.",
        ),
    ]
    cr4: Annotated[
        float | None,
        Text("La part des 4 plus grandes, de 0 à 1.", "Share of the 4 largest, 0 to 1."),
    ]
    cr10: Annotated[
        float | None,
        Text("La part des 10 plus grandes, de 0 à 1.", "Share of the 10 largest, 0 to 1."),
    ]
    gini: Annotated[
        float | None,
        Text(
            "Le coefficient de Gini : 0 si toutes sont égales, près de 1 si une seule a tout.",
            "Gini coefficient: 0 where all are equal, near 1 where one has all.",
        ),
    ]
    motif: Motif = None
    motif_code: _MotifCode


@part("Une tranche.", "A band.")
class Tranche:
    valeur: Annotated[
        str | None,
        Text(
            "Comme `/repartition` la nomme ; null : pas de valeur.",
            "As `/repartition` names it; null: no value.",
        ),
    ]
    n: Annotated[Count, Text("Les sociétés.", "Companies.")]


@part("Les sociétés par tranche.", "Companies by band.")
class Tranches:
    ca: Annotated[
        Sequence[Tranche],
        Text(
            "Les tranches, croissantes ; les sociétés sans valeur en dernier.",
            "Bands, ascending; the companies without a value last.",
        ),
    ]
    effectif: Annotated[
        Sequence[Tranche],
        Text(
            "Les tranches, croissantes ; les sociétés sans valeur en dernier.",
            "Bands, ascending; the companies without a value last.",
        ),
    ]


@part("Une année.", "A year.")
class Annee:
    annee: Annotated[int, Text("L’année.", "Year.")]
    n: Annotated[Count, Text("Les sociétés.", "Companies.")]


@part(
    "Les créations, de sociétés qui existent encore et d’autres.",
    "Births, of companies that still exist and of others.",
)
class Creations:
    annees: Annotated[Sequence[Annee], Text("Croissantes.", "Ascending.")]
    sans_date: Annotated[Count, Text("Les sociétés.", "Companies.")]


@part("Les cessations.", "Deaths.")
class Cessations:
    annees: Annotated[Sequence[Annee] | None, Text("Les années.", "Years.")]
    motif: Motif = None
    societes: Annotated[
        Count,
        Text(
            "Les sociétés qui ont cessé, en quelque année que ce soit.",
            "Companies that have ceased, in whatever year.",
        ),
    ]
    motif_code: Annotated[
        str | None,
        Text(
            "Le code de `motif` : `date_absente` : les données n’ont pas le jour d’une cessation.",
            "Code of `motif`: `date_absente`: the data have no day on which a company ceased.",
        ),
    ]


@part(
    "La croissance du chiffre d’affaires depuis l’année d’avant, des sociétés qui ont "
    "déposé les deux.",
    "Growth of turnover from the year before, of companies that filed both.",
)
class Croissance:
    n: Annotated[Count, Text("Les sociétés.", "Companies.")]
    en_hausse: Annotated[Count, Text("Les sociétés.", "Companies.")]
    p10: _P10
    p25: P25
    mediane: Mediane
    p75: P75
    p90: _P90
    motif: Motif = None
    motif_code: _MotifCode


@part("Un pays.", "A country.")
class QuartilesDuPays:
    pays: Annotated[str, Text("Le pays.", "Country.")]
    n: Annotated[Count, Text("Les sociétés.", "Companies.")]
    p25: P25
    mediane: Mediane
    p75: Annotated[
        float | None,
        Text(
            "Le quantile 0,75 (type 7 de Hyndman et Fan).",
            "Quantile 0.75 (type 7 of Hyndman and Fan).",
        ),
    ]


@part("Un ratio.", "A ratio.")
class RatioDuMarche(RatioDecrit):
    pays: Annotated[
        Sequence[QuartilesDuPays], Text("Les pays qui ont une valeur.", "Countries with a value.")
    ]
    motif: Motif = None
    motif_code: _MotifCode
    formule_code: FormuleCode


@part("Une société.", "A company.")
class PremiereSociete(SocieteNommee):
    ville: Annotated[str | None, Text("La ville.", "City.")]
    ca_eur: Annotated[float, Text("Le chiffre d’affaires en euros.", "Turnover in euros.")]
    ca_year: Annotated[int | None, Text("Son exercice.", "Its fiscal year.")]
    part: Annotated[
        float | None,
        Text(
            "La part dans la somme de tous les chiffres d’affaires positifs, de 0 à 1.",
            "Share in the sum of all positive turnovers, 0 to 1.",
        ),
    ]
    motif: Motif = None
    motif_code: Annotated[
        str | None,
        Text(
            "Le code de `motif` : `ca_non_positif` : il n’y a pas de part d’un chiffre d’affaires nul ou négatif.",
            "Code of `motif`: `ca_non_positif`: a turnover of 0 or less has no share.",
        ),
    ]


@part("À qui l’analyse est servie.", "Whom the analysis is served to.")
class _ServedFor:
    plan: CodePlan
    module: Annotated[str, Text("Le module.", "Module.")]


@part("Les chiffres d’un marché.", "The figures of a market.")
class ChiffresDuMarche:
    """The analysis without what depends on the caller."""

    total: Annotated[
        Count,
        Text(
            "Les sociétés qui répondent à la recherche, dans toute la base.",
            "Companies that match, in the whole base.",
        ),
    ]
    exercices: Annotated[
        Sequence[Annotated[int, Text("L’exercice.", "Fiscal year.")]] | None,
        Text(
            "Les première et dernière années des ratios ; null sans comptes.",
            "First and last year of the ratios; null without statements.",
        ),
    ]
    taille: Taille
    concentration: PartsDuMarche
    tranches: Tranches
    creations: Creations
    cessations: Cessations
    croissance: Croissance
    ratios: Annotated[
        Sequence[RatioDuMarche],
        Text("Dans l’ordre de la table des ratios.", "In the order of the table of ratios."),
    ]
    premieres: Annotated[
        Sequence[PremiereSociete],
        Text("Les dix plus grands chiffres d’affaires.", "The ten greatest turnovers."),
    ]


@component("L’analyse d’un marché.", "The analysis of a market.")
class AnalyseMarche(AnswerObject, ChiffresDuMarche, _ServedFor):
    pays_sans_donnees: Annotated[
        Sequence[str] | AbsentKey,
        Text(
            "Les pays nommés par `pays` dont il n’y a aucune société ; absent s’il n’y en a pas.",
            "Countries named by `pays` of which there is no company; absent without any.",
        ),
    ] = ABSENT
    ids_inconnus: Annotated[
        Sequence[str] | AbsentKey,
        Text(
            "Les éléments de `ids` qui ne désignent aucune société ; absent sans `ids`.",
            "Items of `ids` that name no company; absent without `ids`.",
        ),
    ] = ABSENT
    offre_suivante: OffreSuivante
    activites_comprises: ActivitesComprises = ABSENT
