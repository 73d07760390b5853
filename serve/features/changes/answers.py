"""Answers of the changes between generations, of all companies and of watched companies (§2.2, X8)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from serve.contract.answers import ActivitesComprises, CodePlan, OffreSuivante
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
    TextOf,
    encode,
    members,
)
from shards.changes.change_file import CREATED, DELETED, NATURES
from shards.changes.net_changes import ENTERING, LEAVING

Nature = Annotated[str, KnownValues(NATURES)]


class Modification(Component):
    nature: Nature
    iso2: str
    id: str
    champs: Sequence[str] | AbsentKey = ABSENT


PlafondAtteint = Annotated[bool, TextOf("PlafondAtteint")]


class ChangesPage(DeclaredObject):
    """The keys that the pages of GET and POST share; they come before the changes."""

    depuis: str
    jusque: str
    generation: str
    total: Count
    limit: Count
    plan: CodePlan
    plafond_resultats: Count
    visibles: Count
    tronque: bool
    restantes: Count
    offre_suivante: OffreSuivante
    suivant: str | None


ModificationsDePage = Annotated[bytes, EncodedJson(Sequence[Modification])]


class ListeModifications(AnswerObject, ChangesPage, name="Modifications"):
    modifications: ModificationsDePage
    plafond_atteint: PlafondAtteint = False


NatureSuivie = Annotated[str, KnownValues((*NATURES, LEAVING, ENTERING))]
AvantApres = Annotated[Sequence[Any], Keywords(minItems=2, maxItems=2)]
Apparition = Annotated[str, TextOf("Apparition"), KnownValues((CREATED, DELETED))]
ChampsCompares = Annotated[Sequence[str], TextOf("ChampsCompares")]


class ModificationSuivie(Component):
    nature: NatureSuivie
    iso2: str
    id: str
    champs: Mapping[str, AvantApres] | AbsentKey = ABSENT
    cause: Apparition | ChampsCompares | AbsentKey = ABSENT


class ModificationsSuivies(AnswerObject, ChangesPage):
    modifications: Sequence[ModificationSuivie]
    ids_inconnus: Sequence[str] | AbsentKey = ABSENT
    activites_comprises: ActivitesComprises | AbsentKey = ABSENT
    plafond_atteint: PlafondAtteint = False

    def json(self) -> bytes:
        """The answer as JSON; absent keys are left out of the answer and of each change."""
        changes = [members(change) for change in self.modifications]
        return encode({**members(self), "modifications": changes})
