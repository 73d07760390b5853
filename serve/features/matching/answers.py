"""Answers of matching (X5) and of the reconciliation service for OpenRefine."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from serve.contract.answers import Erreur
from serve.contract.declaration import (
    AbsentKey,
    AnswerObject,
    Component,
    ComponentName,
    DeclaredObject,
    Keywords,
    KnownValues,
    Positive,
    TextOf,
)
from serve.contract.reasons import RAISONS
from shards.matching.line import AMBIGUOUS, LIKELY, NONE, SURE

Probabilite = Annotated[float, Keywords(minimum=0, maximum=1)]
CodeRaison = Annotated[str, TextOf("CodeRaison"), KnownValues(tuple(RAISONS), closed=True)]


class Candidat(Component):
    iso2: str
    id: str
    nom: str
    ville: str | None
    code_postal: str | None
    etat: str | None
    note: Probabilite
    raisons: Sequence[str]
    raisons_codes: Sequence[CodeRaison]


Verdict = Annotated[str, Keywords(examples=[SURE, LIKELY, AMBIGUOUS, NONE])]


class LigneRapprochee(Component):
    cle: str
    verdict: Verdict
    candidats: Sequence[Candidat]
    valeurs: Mapping[str, Any] | None = None


class LigneRefusee(Component):
    cle: str | None
    erreur: Erreur


class Rapprochement(AnswerObject):
    resultats: Sequence[LigneRapprochee | LigneRefusee]


class RapprochementRefuse(Rapprochement):
    erreur: Erreur


# -- answers of /api/v1/reconciliation (Reconciliation Service API 0.2) ------------------------------


class _Named(DeclaredObject):
    """An object of the protocol with an identifier and a name."""

    id: str
    name: str


class TypeEntite(_Named):
    """The type of an entity; all entities have the same type."""


class ChampPropose(_Named):
    """A field whose values a client can request."""


class AdresseService(DeclaredObject):
    service_url: str
    service_path: str


class Vue(DeclaredObject):
    url: str


class ApercuEntite(DeclaredObject):
    url: str
    width: int
    height: int


class Suggerable(DeclaredObject):
    entity: AdresseService
    property: AdresseService
    type: AdresseService


class Extension(DeclaredObject):
    propose_properties: AdresseService
    property_settings: Sequence[Mapping[str, Any]]


class Reconciliation(Component):
    versions: Sequence[str]
    name: str
    identifierSpace: str  # noqa: N815
    schemaSpace: str  # noqa: N815
    documentation: str
    defaultTypes: Sequence[TypeEntite]  # noqa: N815
    batchSize: Positive  # noqa: N815
    view: Vue
    preview: ApercuEntite
    suggest: Suggerable
    extend: Extension


class Trait(DeclaredObject):
    id: str
    value: float | bool


class CandidatReconciliation(Component, _Named, name="ReconciliationCandidat"):
    description: str
    type: Sequence[TypeEntite]
    score: float
    match: bool
    features: Sequence[Trait]


class CandidatsRequete(DeclaredObject):
    result: Sequence[CandidatReconciliation]
    erreur: Erreur | AbsentKey


ReconciliationResultats = Annotated[
    Mapping[str, CandidatsRequete], ComponentName("ReconciliationResultats")
]


class ReconciliationValeurs(Component):
    meta: Sequence[ChampPropose]
    rows: Mapping[str, Mapping[str, Any]]


class ReconciliationChamps(Component):
    type: str
    properties: Sequence[ChampPropose]
    limit: int | AbsentKey


class Suggestion(_Named):
    description: str | AbsentKey
    notable: Sequence[TypeEntite] | AbsentKey


class ReconciliationSuggestions(Component):
    result: Sequence[Suggestion]


# The response to an invalid key: the answer of a visitor, with `erreur` added.
ReconciliationRefusee = Annotated[Mapping[str, Any], TextOf("ReconciliationRefusee")]
ReconciliationReponse = Reconciliation | ReconciliationResultats | ReconciliationValeurs
