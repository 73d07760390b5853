"""The analysis of a company: ratios, ranks, warnings, score; and the companies that are most like it (X11)."""

from collections.abc import Sequence
from typing import Annotated

from serve.contract.answers import (
    ActivitesComprises,
    CodePlan,
    Erreur,
    Motif,
    OffreSuivante,
    Societe,
    SocieteNommee,
)
from serve.contract.declaration import (
    ABSENT,
    AbsentKey,
    AnswerObject,
    Count,
    component,
    part,
    with_keywords,
)
from serve.contract.text import Text

P25 = Annotated[
    float | None,
    Text(
        "Le quantile 0,25 (type 7 de Hyndman et Fan).",
        "Quantile 0.25 (type 7 of Hyndman and Fan).",
    ),
]
Mediane = Annotated[
    float | None,
    Text(
        "Le quantile 0,50 (type 7 de Hyndman et Fan).",
        "Quantile 0.50 (type 7 of Hyndman and Fan).",
    ),
]
P75 = Annotated[
    float | None,
    Text(
        "Le quantile 0,75 (type 7 de Hyndman et Fan).",
        "Quantile 0.75 (type 7 of Hyndman and Fan).",
    ),
]
# Words of a formula stand in `formule` (serve/contract/reasons.py).
FormuleCode = Annotated[
    str,
    Text(
        "La même sur des postes (CamelCase) et d’autres ratios.",
        "The same over statement lines (CamelCase) and other ratios.",
    ),
]


@part("Un ratio d’une année.", "A ratio of a year.")
class ValeurDeRatio:
    exercice: Annotated[int, Text("L’exercice.", "Fiscal year.")]
    valeur: Annotated[
        float | None,
        Text(
            "La valeur, en `unite` ; null avec un `motif`.",
            "The value, in `unite`; null with a `motif`.",
        ),
    ]
    motif: Motif = None
    motif_code: Annotated[
        str | None,
        Text(
            "Le code de `motif` : `poste_absent` avec les postes manquants, `exercice_absent` "
            "(le précédent), `denominateur_nul`, `denominateur_negatif`, `taux_absent`, "
            "`devise_changee`, `devises_multiples` (dans l’année), `comptes_retenus` (des comptes qui "
            "se contredisent).",
            "Code of `motif`: `poste_absent` with the lines that lack, `exercice_absent` (the "
            "year before), `denominateur_nul`, `denominateur_negatif`, `taux_absent`, "
            "`devise_changee`, `devises_multiples` (within the year), `comptes_retenus` (accounts "
            "that contradict themselves).",
        ),
    ]


@part("Qui est comparé.", "Who is compared.")
class PerimetreCompare:
    pays: Annotated[
        str | None,
        Text(
            "Le pays ; null : tous, là où il a moins de 30 sociétés.",
            "Country; null for all, where it has under 30 companies.",
        ),
    ]
    secteur: Annotated[str | None, Text("Le secteur, en français.", "Sector, French.")]
    exercices: Annotated[
        Sequence[Annotated[int, Text("L’exercice.", "Fiscal year.")]],
        Text("La première et la dernière année des pairs.", "First and last year of the peers."),
    ]
    exercice_compare: Annotated[
        int,
        Text(
            "L’année de la société elle-même, celle du `rang`.",
            "The company's own year, which has the `rang`.",
        ),
    ]


@part(
    "Le secteur, chaque société par sa propre dernière année ; null pour une société sans secteur.",
    "The sector, each company by its own last year; null for a company without a sector.",
)
class ReperesDuSecteur:
    perimetre: PerimetreCompare
    n: Annotated[Count, Text("Les sociétés qui ont une valeur.", "Companies with a value.")]
    p10: Annotated[
        float | None,
        Text(
            "Le quantile 0,10 (type 7 de Hyndman et Fan).",
            "Quantile 0.10 (type 7 of Hyndman and Fan).",
        ),
    ]
    p25: P25
    mediane: Mediane
    p75: P75
    p90: Annotated[
        float | None,
        Text(
            "Le quantile 0,90 (type 7 de Hyndman et Fan).",
            "Quantile 0.90 (type 7 of Hyndman and Fan).",
        ),
    ]
    rang: Annotated[
        int | None,
        with_keywords(minimum=1),
        Text(
            "La place, le meilleur d’abord selon `sens` ; null sans valeur, sans `sens`, si `n` est "
            "inférieur à 5, et si l’année de la société n’est pas une de celles des pairs.",
            "Place, the best first by `sens`; null without a value or a `sens`, where `n` is under 5, "
            "and where the company's year is not one of the peers' years.",
        ),
    ]
    motif: Motif = None
    motif_code: Annotated[
        str | None,
        Text(
            "Le code de `motif` : `aucun_ratio` : aucune société n’a de valeur, donc ni "
            "quantiles ni rang ; `trop_peu_de_pairs` : moins de 10 sociétés, donc pas de quantiles "
            "(un rang à partir de 5) ; `sans_sens` : aucune valeur n’est meilleure qu’une autre, "
            "donc pas de rang ; `valeur_absente` : la société n’a pas de valeur, donc pas de rang ; "
            "`hors_des_pairs` : son année est d’avant celles des pairs, donc pas de rang.",
            "Code of `motif`: `aucun_ratio`: no company has a value, so there are no quantiles "
            "and no rank; `trop_peu_de_pairs`: under 10 companies, so there are no quantiles (a rank "
            "from 5 on); `sans_sens`: no value is better than another, so there is no rank; "
            "`valeur_absente`: the company has no value, so it has no rank; `hors_des_pairs`: its "
            "year is before those of the peers, so it has no rank.",
        ),
    ]


@part("Un ratio.", "A ratio.")
class RatioDecrit:
    code: Annotated[str, Text("Le code.", "Code.")]
    libelle: Annotated[str, Text("Le nom, en français.", "Name, French.")]
    libelle_en: Annotated[str, Text("Le nom, en anglais.", "Name, English.")]
    formule: Annotated[
        str,
        Text(
            "La formule en mots, dans la langue d’`Accept-Language`.",
            "Formula in words, in the language of `Accept-Language`.",
        ),
    ] = ""
    unite: Annotated[
        str,
        Text(
            "`part` (de 1), `fois`, `jours`, `EUR` ou `indice`.",
            "`part` (of 1), `fois`, `jours`, `EUR` or `indice`.",
        ),
    ]
    source: Annotated[str, Text("Le manuel ou la norme.", "Textbook or standard.")]


@component("Un ratio de comptes annuels.", "A ratio of annual accounts.", name="Ratio")
class RatioAnalyse(RatioDecrit):
    valeurs: Annotated[
        Sequence[ValeurDeRatio], Text("Le dernier exercice d’abord.", "The last year first.")
    ]
    secteur: ReperesDuSecteur | None
    formule_code: FormuleCode
    sens: Annotated[
        str | None,
        Text(
            "La meilleure valeur : `haut` (la plus grande), `bas` (la plus petite) ; null : ni l’une "
            "ni l’autre.",
            "The better value: `haut` (the greatest), `bas` (the smallest); null: neither.",
        ),
    ]
    motif: Motif = None
    motif_code: Annotated[
        str | None,
        Text(
            "Le code de `motif` : `secteur_absent` : le secteur n’est pas connu, donc `secteur` est null.",
            "Code of `motif`: `secteur_absent`: the sector is not known, so `secteur` is null.",
        ),
    ]


@part("La société.", "The company.")
class SocieteAnalysee(SocieteNommee):
    secteur: Annotated[str | None, Text("Le secteur, en français.", "Sector, French.")]


@part("Une année qui a des comptes.", "A year with statements.")
class ExerciceDepose:
    exercice: Annotated[int, Text("L’exercice.", "Fiscal year.")]
    devise: Annotated[
        str | None,
        Text(
            "La devise ; null là où il y en a eu plusieurs.",
            "Currency; null where several were used.",
        ),
    ]
    duree_mois: Annotated[
        float,
        Text(
            "Les mois ; là où ce ne sont pas 12, les flux comptent comme ceux de douze mois.",
            "Months; where they are not 12, flows count as those of twelve months.",
        ),
    ]
    motif: Motif = None
    motif_code: Annotated[
        str | None,
        Text(
            "Le code de `motif` : `devises_multiples`, `devise_absente`.",
            "Code of `motif`: `devises_multiples`, `devise_absente`.",
        ),
    ]


@part("Un rang par chiffre d’affaires.", "A place by turnover.")
class RangParCa:
    rang: Annotated[
        int | None,
        with_keywords(minimum=1),
        Text(
            "Le rang, le plus grand d’abord ; null sans valeur.",
            "Place, the greatest first; null without a value.",
        ),
    ]
    n: Annotated[
        Count, Text("Les sociétés qui ont un chiffre d’affaires.", "Companies with a turnover.")
    ]
    motif: Motif = None
    motif_code: Annotated[
        str | None,
        Text(
            "Le code de `motif` : `ca_absent` : le chiffre d’affaires n’est pas connu.",
            "Code of `motif`: `ca_absent`: the turnover is not known.",
        ),
    ]


@part("Les rangs par chiffre d’affaires.", "Places by turnover.")
class Rangs:
    pays: RangParCa
    europe: RangParCa


@part("Ce dont les comptes avertissent.", "What the accounts warn of.")
class Alerte:
    code: Annotated[
        str,
        Text(
            "`capitaux_propres_negatifs`, `pertes_consecutives` (deux ans), `ca_en_baisse` ou "
            "`comptes_anciens` (d’avant les années des pairs).",
            "`capitaux_propres_negatifs`, `pertes_consecutives` (two years), `ca_en_baisse` or "
            "`comptes_anciens` (before the years of the peers).",
        ),
    ]
    exercice: Annotated[int, Text("Le dernier exercice.", "The last fiscal year.")]


@part("Ce qu’un champ ajoute.", "What a field adds.")
class PartDuScore:
    champ: Annotated[str, Text("Le champ de la société.", "Field of the company.")]
    points: Annotated[
        int,
        Text(
            "Les points ; 0 là où le champ n’est pas connu.",
            "Points; 0 where the field is not known.",
        ),
    ]
    maximum: Annotated[
        int,
        Text("Les points du champ là où il est connu.", "Points of the field where it is known."),
    ]


@part("Le score et ses parts.", "The score and its parts.")
class Score:
    valeur: Annotated[int | None, Text("Comme dans la fiche.", "As in the record.")]
    maximum: Annotated[int, Text("Le plus qu’il puisse valoir.", "The most that it can be.")]
    parts: Annotated[
        Sequence[PartDuScore], Text("Dans l’ordre de la table.", "In the order of the table.")
    ]


@component("L’analyse d’une société.", "The analysis of a company.")
class AnalyseEntreprise(AnswerObject):
    societe: SocieteAnalysee
    plan: CodePlan
    module: Annotated[str, Text("Le module.", "Module.")]
    exercices: Annotated[
        Sequence[ExerciceDepose], Text("Le dernier exercice d’abord.", "The last year first.")
    ]
    ratios: Annotated[
        Sequence[RatioAnalyse],
        Text("Vide là où aucun compte n’est connu.", "None where no statements are known."),
    ]
    rangs: Rangs
    alertes: Annotated[
        Sequence[Alerte],
        Text(
            "Les alertes ; aucune si les chiffres n’y donnent pas lieu.",
            "Warnings, none if the figures give no cause.",
        ),
    ]
    score: Score
    offre_suivante: OffreSuivante


@part("La société.", "The company.")
class SocieteEtSecteur(SocieteNommee):
    secteur: Annotated[str | None, Text("Le secteur, en français.", "Sector, French.")]
    sous_secteur: Annotated[
        str | None, Text("Le sous-secteur, en français.", "Sub-sector, French.")
    ]


@part("Les écarts.", "The gaps.")
class Ecarts:
    ca_eur: Annotated[
        float | None,
        Text(
            "De chiffre d’affaires : différence des ln(1 + euros) ; null si l’un des deux est "
            "inconnu.",
            "Of turnover: difference of ln(1 + euros); null where one is not known.",
        ),
    ]
    effectif: Annotated[
        float | None,
        Text(
            "De l’effectif : de même pour les personnes, ou pour les nombres les plus petits des "
            "deux tranches, là où l’une n’a qu’une tranche.",
            "Of headcount: the same of persons, or of the least numbers of both bands where one has "
            "a band alone.",
        ),
    ]
    lieu: Annotated[
        float,
        Text(
            "0 : même ville ; 0,25 : mêmes deux premiers caractères du code postal ; sinon 0,5.",
            "0: same town; 0.25: same first two characters of the postcode; else 0.5.",
        ),
    ]


@part("Une société proche.", "A near company.")
class SocieteProche:
    distance: Annotated[
        float,
        Text(
            "La somme des écarts ; un écart null compte 3 si c’est elle qui n’a pas de chiffre, 1 si "
            "c’est la société comparée, 0 si aucune des deux n’en a.",
            "Sum of the gaps; one that is null counts 3 where this company has no figure, 1 where the "
            "compared one has none, 0 where neither has.",
        ),
    ]
    ecarts: Ecarts
    societe: Societe
    motif: Motif
    motif_code: Annotated[
        str | None,
        Text(
            "Le code de `motif` : `ca_inconnu`, `effectif_inconnu`, `taille_inconnue` (les deux).",
            "Code of `motif`: `ca_inconnu`, `effectif_inconnu`, `taille_inconnue` (both).",
        ),
    ]


@component("Les sociétés les plus semblables à une autre.", "The companies that are most like one.")
class Comparables(AnswerObject):
    societe: SocieteEtSecteur
    plan: CodePlan
    motif: Motif
    comparables: Annotated[
        Sequence[SocieteProche],
        Text(
            "Celles qui ont un chiffre d’affaires d’abord, si la société en a un ; puis celles du "
            "pays d’abord ; puis les plus proches.",
            "Those with a turnover first, if the company has one; then the country's first; then the "
            "nearest.",
        ),
    ]
    offre_suivante: OffreSuivante
    motif_code: Annotated[
        str | None,
        Text(
            "Le code de `motif` : `secteur_absent` : une société sans secteur n’a pas de "
            "comparables ; `taille_absente` : ni chiffre d’affaires ni effectif, donc celles sans "
            "chiffres d’abord, par le lieu seul.",
            "Code of `motif`: `secteur_absent`: a company without a sector has no comparables; "
            "`taille_absente`: neither turnover nor headcount, so companies without figures come "
            "first, by place alone.",
        ),
    ]


@component(
    "La clé n’est pas valable : ce qu’obtient un visiteur, et `erreur`.",
    "The key is not valid: what a visitor gets, and `erreur`.",
)
class ComparablesRefuses(Comparables):
    erreur: Erreur


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
