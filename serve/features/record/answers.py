"""Answers of the look-up of a number (X6) and of the group of a company (X12)."""

from collections.abc import Sequence
from typing import Annotated

from serve.contract.answers import CodePlan, Erreur, Motif, OffreSuivante, SocieteNommee
from serve.contract.declaration import AnswerObject, Count, DeclaredObject, KnownValues


class SocieteNumerotee(SocieteNommee):
    """A company whose identifier is written as the register writes it."""


TypeNumero = Annotated[str, KnownValues(("immatriculation", "tva", "siret", "lei"))]


class Identification(AnswerObject):
    type: TypeNumero
    candidats: Sequence[SocieteNumerotee]


class IdentificationRefusee(Identification):
    erreur: Erreur


class SocieteDuGroupe(SocieteNommee):
    lei: str | None


NatureDuLien = Annotated[str, KnownValues(("directe", "ultime", "succursale"))]


class Lien(DeclaredObject):
    lei: str
    societe: SocieteNommee | None
    nature: NatureDuLien
    debut: str | None
    fin: str | None


Role = Annotated[str, KnownValues(("mere", "filiale"))]


class _Role(DeclaredObject):
    """The role of the other company of a link."""

    role: Role


class AncienLien(Lien, _Role):
    """A link that has ended. `_Role` is the last base, so that `role` is the first key."""


class SourceDesLiens(DeclaredObject):
    source: str
    registre: str
    licence: str
    licence_adresse: str
    attribution: str
    attribution_en: str
    date: str | None


class Groupe(AnswerObject):
    societe: SocieteDuGroupe
    plan: CodePlan
    motif: Motif | None
    parents: Sequence[Lien] | None
    tete: Lien | None
    enfants: Sequence[Lien] | None
    total_enfants: Count | None
    total_consolidees: Count | None
    anciens_liens: Sequence[AncienLien] | None
    sources: Sequence[SourceDesLiens]
    motif_code: str | None
    offre_suivante: OffreSuivante


class GroupeRefuse(Groupe):
    erreur: Erreur
