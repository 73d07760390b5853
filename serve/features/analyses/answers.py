"""Answers of the analyses of a company and of a market, and of comparable companies (X11)."""

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
    Component,
    Count,
    DeclaredObject,
    Positive,
    TextOf,
)

Exercice = Annotated[int, TextOf("Exercice")]
P25 = Annotated[float, TextOf("P25")]
Mediane = Annotated[float, TextOf("Mediane")]
P75 = Annotated[float, TextOf("P75")]
# The words of a formula are in `formule` (serve/contract/reasons.py).
FormuleCode = Annotated[str, TextOf("FormuleCode")]


class ValeurDeRatio(DeclaredObject):
    exercice: Exercice
    valeur: float | None
    motif: Motif | None = None
    motif_code: str | None


class PerimetreCompare(DeclaredObject):
    pays: str | None
    secteur: str | None
    exercices: Sequence[Exercice]
    exercice_compare: int


class ReperesDuSecteur(DeclaredObject):
    perimetre: PerimetreCompare
    n: Count
    p10: float | None
    p25: P25 | None
    mediane: Mediane | None
    p75: P75 | None
    p90: float | None
    rang: Positive | None
    motif: Motif | None = None
    motif_code: str | None


class RatioDecrit(DeclaredObject):
    """A ratio without its values."""

    code: str
    libelle: str
    libelle_en: str
    formule: str = ""
    unite: str
    source: str


class RatioAnalyse(Component, RatioDecrit, name="Ratio"):
    valeurs: Sequence[ValeurDeRatio]
    secteur: ReperesDuSecteur | None
    formule_code: FormuleCode
    sens: str | None
    motif: Motif | None = None
    motif_code: str | None


class SocieteAnalysee(SocieteNommee):
    secteur: str | None


class ExerciceDepose(DeclaredObject):
    exercice: Exercice
    devise: str | None
    duree_mois: float
    motif: Motif | None = None
    motif_code: str | None


class RangParCa(DeclaredObject):
    rang: Positive | None
    n: Count
    motif: Motif | None = None
    motif_code: str | None


class Rangs(DeclaredObject):
    pays: RangParCa
    europe: RangParCa


class Alerte(DeclaredObject):
    code: str
    exercice: int


class PartDuScore(DeclaredObject):
    champ: str
    points: int
    maximum: int


class Score(DeclaredObject):
    valeur: int | None
    maximum: int
    parts: Sequence[PartDuScore]


class AnalyseEntreprise(AnswerObject):
    societe: SocieteAnalysee
    plan: CodePlan
    module: str
    exercices: Sequence[ExerciceDepose]
    ratios: Sequence[RatioAnalyse]
    rangs: Rangs
    alertes: Sequence[Alerte]
    score: Score
    offre_suivante: OffreSuivante


class SocieteEtSecteur(SocieteAnalysee):
    sous_secteur: str | None


class Ecarts(DeclaredObject):
    ca_eur: float | None
    effectif: float | None
    lieu: float


class SocieteProche(DeclaredObject):
    distance: float
    ecarts: Ecarts
    societe: Societe
    motif: Motif | None
    motif_code: str | None


class Comparables(AnswerObject):
    societe: SocieteEtSecteur
    plan: CodePlan
    motif: Motif | None
    comparables: Sequence[SocieteProche]
    offre_suivante: OffreSuivante
    motif_code: str | None


class ComparablesRefuses(Comparables):
    erreur: Erreur


P10 = Annotated[float, TextOf("P10")]
P90 = Annotated[float, TextOf("P90")]
MotifCode = Annotated[str, TextOf("MotifCode")]


class Taille(DeclaredObject):
    avec_ca: Count
    ca_total: float | None
    p10: P10 | None
    p25: P25 | None
    mediane: Mediane | None
    p75: P75 | None
    p90: P90 | None
    motif: Motif | None = None
    motif_code: MotifCode | None


class PartsDuMarche(DeclaredObject):
    hhi: float | None
    cr4: float | None
    cr10: float | None
    gini: float | None
    motif: Motif | None = None
    motif_code: MotifCode | None


class Tranche(DeclaredObject):
    valeur: str | None
    n: Count


class Tranches(DeclaredObject):
    ca: Sequence[Tranche]
    effectif: Sequence[Tranche]


class Annee(DeclaredObject):
    annee: int
    n: Count


class Creations(DeclaredObject):
    annees: Sequence[Annee]
    sans_date: Count


class Cessations(DeclaredObject):
    annees: Sequence[Annee] | None
    motif: Motif | None = None
    societes: Count
    motif_code: str | None


class Croissance(DeclaredObject):
    n: Count
    en_hausse: Count
    p10: P10 | None
    p25: P25 | None
    mediane: Mediane | None
    p75: P75 | None
    p90: P90 | None
    motif: Motif | None = None
    motif_code: MotifCode | None


class QuartilesDuPays(DeclaredObject):
    pays: str
    n: Count
    p25: P25 | None
    mediane: Mediane | None
    p75: P75 | None


class RatioDuMarche(RatioDecrit):
    pays: Sequence[QuartilesDuPays]
    motif: Motif | None = None
    motif_code: MotifCode | None
    formule_code: FormuleCode


class PremiereSociete(SocieteNommee):
    ville: str | None
    ca_eur: float
    ca_year: int | None
    part: float | None
    motif: Motif | None = None
    motif_code: str | None


class _ServedFor(DeclaredObject):
    """The plan of the caller, and the paid module."""

    plan: CodePlan
    module: str


class ChiffresDuMarche(DeclaredObject):
    """The part of an analysis that does not depend on the caller."""

    total: Count
    exercices: Sequence[Exercice] | None
    taille: Taille
    concentration: PartsDuMarche
    tranches: Tranches
    creations: Creations
    cessations: Cessations
    croissance: Croissance
    ratios: Sequence[RatioDuMarche]
    premieres: Sequence[PremiereSociete]


class AnalyseMarche(AnswerObject, ChiffresDuMarche, _ServedFor):
    pays_sans_donnees: Sequence[str] | AbsentKey = ABSENT
    ids_inconnus: Sequence[str] | AbsentKey = ABSENT
    offre_suivante: OffreSuivante
    activites_comprises: ActivitesComprises | AbsentKey = ABSENT
