"""The answers: a page of a search (§2.2) with companies as stored JSON, counts (X3), completions of a text (X4).

`texts.csv` has the meaning of each field.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from serve.contract.answers import (
    Activite,
    ActivitesComprises,
    CodePlan,
    Erreur,
    OffreSuivante,
    OutilApi,
    Societe,
    SocieteNommee,
)
from serve.contract.declaration import (
    ABSENT,
    AbsentKey,
    AnswerObject,
    Component,
    Count,
    EncodedJson,
    Keywords,
    KnownValues,
    Positive,
    TextOf,
)
from shards.codec import record
from shards.query import STATES
from shards.search.distribution import DIMENSIONS

PaysSansDonnees = Annotated[Sequence[str], TextOf("PaysSansDonnees")]
IdsInconnus = Annotated[Sequence[str], TextOf("IdsInconnus")]


class TexteVoulu(Component):
    q: str
    total: Positive


class RechercheProposee(Component):
    activite: str | AbsentKey
    ville: str | AbsentKey
    q: str | AbsentKey
    total: Positive


# Encoded as bytes, because an offset can exceed 64 bits, the largest integer that orjson writes.
Offset = Annotated[bytes, EncodedJson(Count)]
SocietesDePage = Annotated[bytes, EncodedJson(Sequence[Societe])]
# The proposals are dictionaries, because absent keys are left out only at the top level of an answer.
RecherchesProposees = Annotated[
    Sequence[Mapping[str, str | int]], EncodedJson(Sequence[RechercheProposee])
]
NomsTrouves = Annotated[
    Mapping[str, str], Keywords(examples=[{"UK:00944111": "ROYAL TOOL LIMITED"}])
]


class Recherche(AnswerObject):
    total: Count
    limit: Count
    offset: Offset
    plan: CodePlan
    plafond_resultats: Count
    visibles: Count
    tronque: bool
    restantes: Count
    coordonnees: bool
    offre_suivante: OffreSuivante
    apercu: bool
    societes: SocietesDePage
    plan_souscrit: CodePlan | AbsentKey = ABSENT
    outil_api: OutilApi | AbsentKey = ABSENT
    pays_sans_donnees: PaysSansDonnees | AbsentKey = ABSENT
    ids_inconnus: IdsInconnus | AbsentKey = ABSENT
    noms_trouves: NomsTrouves | AbsentKey = ABSENT
    vouliez_vous_dire: Sequence[TexteVoulu] | AbsentKey = ABSENT
    activites_comprises: ActivitesComprises | AbsentKey = ABSENT
    recherches_proposees: RecherchesProposees | AbsentKey = ABSENT

    def companies(self) -> list[dict[str, Any]]:
        """The companies of the page, decoded."""
        return record.companies(self.societes[1:-1])  # without the brackets of the array


class RechercheRefusee(Recherche):
    erreur: Erreur


class Effectifs(Component):
    valeur: str | None
    libelle: str
    libelle_en: str
    n: Count


Dimension = Annotated[str, KnownValues(tuple(DIMENSIONS))]
ParValeur = Annotated[Sequence[Effectifs], TextOf("ParValeur")]
AutresSocietes = Annotated[Count, TextOf("AutresSocietes")]


class Repartition(AnswerObject):
    total: Count
    repartitions: Mapping[Dimension, ParValeur]
    autres: Mapping[str, AutresSocietes]
    pays_sans_donnees: PaysSansDonnees | AbsentKey = ABSENT
    ids_inconnus: IdsInconnus | AbsentKey = ABSENT
    activites_comprises: ActivitesComprises | AbsentKey = ABSENT


class RepartitionRefusee(Repartition):
    erreur: Erreur


Etat = Annotated[str, KnownValues(STATES)]


class SocieteSuggeree(Component, SocieteNommee):
    ville: str | None
    etat: Etat


class Mot(Component):
    mot: str
    n: Positive


class SecteurSuggere(Component):
    slug: str
    secteur: str
    secteur_en: str


class VilleSuggeree(Component):
    ville: str
    n: Positive


class ActiviteSuggeree(Activite):
    n: Positive


class Suggestions(AnswerObject):
    q: str
    societes: Sequence[SocieteSuggeree]
    mots: Sequence[Mot]
    secteurs: Sequence[SecteurSuggere]
    villes: Sequence[VilleSuggeree]
    activites: Sequence[ActiviteSuggeree]


class SuggestionsRefusees(Suggestions):
    erreur: Erreur
