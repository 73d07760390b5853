"""Answers about companies: a page of a search and its counts (§2.2, X3), what completes a text (X4), the companies with
a number (X6), and the record of one company with its statement lines (§2.4, E5).

The company itself is stored JSON.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from serve.contract.answers import (
    Activite,
    ActivitesComprises,
    CodePlan,
    CoutEtSolde,
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
    DeclaredObject,
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


# Of any size, where orjson has 64 bits.
Offset = Annotated[bytes, EncodedJson(Count)]
SocietesDePage = Annotated[bytes, EncodedJson(Sequence[Societe])]
# As dictionaries, since only an answer itself leaves out the keys that are absent.
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
        return record.companies(self.societes[1:-1])


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


class SocieteNumerotee(SocieteNommee):
    """Its identifier is as the register writes it."""


TypeNumero = Annotated[str, KnownValues(("immatriculation", "tva", "siret", "lei"))]


class Identification(AnswerObject):
    type: TypeNumero
    candidats: Sequence[SocieteNumerotee]


class IdentificationRefusee(Identification):
    erreur: Erreur


EtatFinancier = Annotated[str, KnownValues(record.ETATS)]


class LigneComptes(Component):
    etat: EtatFinancier
    code: str | None
    libelle: str
    valeur: float | None
    devise: str | None
    exercice: int
    ordre: int | None


class _CompanyKey(DeclaredObject):
    """The company of a line."""

    iso2: str
    id: str


class LigneComptesExportee(LigneComptes, _CompanyKey):
    """The fields of the key come first."""


class Droits(Component):
    etats_financiers: bool
    coordonnees: bool


SocieteDeFiche = Annotated[bytes, EncodedJson(Societe)]
Comptes = Annotated[bytes, EncodedJson(Sequence[LigneComptes])]


class Fiche(AnswerObject):
    societe: SocieteDeFiche
    plan: CodePlan
    comptes: Comptes | AbsentKey = ABSENT
    comptes_message: str | AbsentKey = ABSENT
    droits: Droits
    offre_suivante: OffreSuivante
    plan_souscrit: CodePlan | AbsentKey = ABSENT
    outil_api: OutilApi | AbsentKey = ABSENT

    def company(self) -> dict[str, Any]:
        """The identity, decoded."""
        return record.company(self.societe)

    def lines(self) -> list[dict[str, Any]]:
        """The statement lines, decoded; none where they are not part of the answer."""
        return record.lines(self.comptes or None)


class FicheRefusee(Fiche):
    erreur: Erreur


class FicheIndisponible(Component):
    erreur: Erreur
    societe: Societe
    plan: CodePlan
    comptes_message: str
    droits: Droits
    offre_suivante: OffreSuivante
    plan_souscrit: CodePlan | AbsentKey = ABSENT
    outil_api: OutilApi | AbsentKey = ABSENT


class FicheEpuisee(FicheIndisponible):
    credits: CoutEtSolde
