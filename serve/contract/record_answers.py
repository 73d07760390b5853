"""The record of a company with its statement lines (§2.4, E5); the company itself is stored JSON.

The documents of errors and files refer to these objects, even if the product has no records.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from serve.contract.answers import CodePlan, CoutEtSolde, Erreur, OffreSuivante, OutilApi, Societe
from serve.contract.declaration import (
    ABSENT,
    AbsentKey,
    AnswerObject,
    Component,
    DeclaredObject,
    EncodedJson,
    KnownValues,
)
from shards.codec import record

# The statement to which a line belongs.
EtatFinancier = Annotated[str, KnownValues(record.ETATS)]


class LigneComptes(Component):
    """A statement line (E5)."""

    etat: EtatFinancier
    code: str | None
    libelle: str
    valeur: float | None
    devise: str | None
    exercice: int
    ordre: int | None


class _CompanyKey(DeclaredObject):
    """The key of the company that a line belongs to."""

    iso2: str
    id: str


class LigneComptesExportee(LigneComptes, _CompanyKey):
    """A statement line of an export, which begins with the country and identifier of its company."""


class Droits(Component):
    """The rights of the caller's plan to statements and contacts."""

    etats_financiers: bool
    coordonnees: bool


# The company and the statement lines of a record, as the stored JSON, which is sent unchanged.
SocieteDeFiche = Annotated[bytes, EncodedJson(Societe)]
Comptes = Annotated[bytes, EncodedJson(Sequence[LigneComptes])]


class Fiche(AnswerObject):
    """The answer for a record (§2.4): the company, its statement lines, and the rights of the caller."""

    societe: SocieteDeFiche
    plan: CodePlan
    comptes: Comptes | AbsentKey = ABSENT
    comptes_message: str | AbsentKey = ABSENT
    droits: Droits
    offre_suivante: OffreSuivante
    plan_souscrit: CodePlan | AbsentKey = ABSENT
    outil_api: OutilApi | AbsentKey = ABSENT

    def company(self) -> dict[str, Any]:
        """The company, decoded."""
        return record.company(self.societe)

    def lines(self) -> list[dict[str, Any]]:
        """The statement lines, decoded; empty if the answer has none."""
        return record.lines(self.comptes or None)


class FicheRefusee(Fiche):
    """A visitor's record in a 401, for a call with a bad key (A1)."""

    erreur: Erreur


class FicheIndisponible(Component):
    """A visitor's view of a record in a 503, because the charge could not be counted (G9)."""

    erreur: Erreur
    societe: Societe
    plan: CodePlan
    comptes_message: str
    droits: Droits
    offre_suivante: OffreSuivante
    plan_souscrit: CodePlan | AbsentKey = ABSENT
    outil_api: OutilApi | AbsentKey = ABSENT


class FicheEpuisee(FicheIndisponible):
    """A visitor's view of a record in a 402, because the credits are used up (D10)."""

    credits: CoutEtSolde
