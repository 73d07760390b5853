"""Objects of several answers: a plan, the next plan, an error, the figures of a limit."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final

from quota.plans import SLUGS
from serve.contract import seed_tables
from serve.contract.declaration import (
    Component,
    ComponentName,
    Count,
    DeclaredObject,
    EncodedJson,
    KnownValues,
    Moment,
    TextOf,
)

_VISITOR: Final = "visiteur"  # the slug of the plan of visitors

# The slug of a plan.
CodePlan = Annotated[str, ComponentName("CodePlan"), KnownValues(SLUGS)]
# A plan that can be bought; the plan of visitors cannot.
CodeOffre = Annotated[str, KnownValues(tuple(slug for slug in SLUGS if slug != _VISITOR))]
# The key `outil_api`: sent with `plan_souscrit` if the paid plan lacks the API tool (contract A7).
OutilApi = Annotated[bool, TextOf("OutilApi")]
# A company as it is stored; serve/contract/tables/fields.csv describes its fields.
Societe = Annotated[Mapping[str, Any], ComponentName("Societe")]


class Activite(Component):
    """A NACE class with its French and English labels."""

    nace: str
    libelle: str
    libelle_en: str


def activities_of(classes: Iterable[str]) -> list[Activite]:
    """NACE classes with their labels."""
    labels = ((code, *seed_tables.activity_labels(code)) for code in classes)
    return [Activite(nace=code, libelle=fr, libelle_en=en) for code, fr, en in labels]


# The classes that `activite` names (X13).
ActivitesComprises = Annotated[Sequence[Activite], TextOf("ActivitesComprises")]


# The page on which a plan is bought, or the free plan is opened.
PageOffre = Annotated[str, KnownValues(("/inscription", "/tarifs"))]


class Offre(Component):
    """A plan to propose, with its prices, limits and rights (§2.3)."""

    plan: CodeOffre
    nom: str
    nom_en: str
    prix_mensuel_eur: float
    prix_annuel_eur: float
    resultats_par_recherche: int
    exports_par_mois: int
    lignes_par_export: int
    appels_api_par_jour: int
    lignes_par_appel: int
    societes_avec_comptes_par_export: int
    coordonnees: bool
    etats_financiers: bool
    url: PageOffre


class Erreur(Component):
    """The code of an error and its message (§2.6)."""

    code: str
    message: str


class CoutEtSolde(Component, name="Credits"):
    """The price that was refused, the credits left, and the next reset of the credits (D10)."""

    cout: int
    solde: int
    reinitialisation: Moment


# The counter that is used up: calls of the day, exports or trials of the month, or a burst limit.
TypeQuota = Annotated[str, KnownValues(("appels_jour", "exports_mois", "essais_mois", "debit"))]


class Quota(Component):
    """A counter that is used up: its limit, its use, and its next reset (D4)."""

    type: TypeQuota
    limite: int
    utilise: int
    restant: Count
    reinitialisation: Moment


# The reason why a figure is null, in words (serve/contract/reasons.py); `motif_code` has its code.
Motif = Annotated[str, TextOf("Motif")]

# JSON of the next plan, encoded once for each plan.
OffreSuivante = Annotated[bytes, EncodedJson(Offre | None)]


class SocieteNommee(DeclaredObject):
    """A company by its key and its name; the text of the field says which company it is."""

    iso2: str
    id: str
    nom: str


class DetailsErreur(DeclaredObject):
    """All keys that errors can have in addition to `erreur`; error_codes.csv has the keys of each code (G6)."""

    pays_inconnus: Sequence[str]
    secteurs_inconnus: Sequence[str]
    sous_secteurs_inconnus: Sequence[str]
    formes_inconnues: Sequence[str]
    nace_inconnus: Sequence[str]
    activites_inconnues: Sequence[str]
    suggestions: Mapping[str, Sequence[str]]
    parametre: str
    valeurs: Sequence[str]
    parametres_inconnus: Sequence[str]
    parametres_admis: Sequence[str]
    proches: Sequence[str]
    supprimee_le: str | None
    credits: CoutEtSolde
    quota: Quota
    module: str
    offre: str
    outil_api: bool
    version: str
    versions: Sequence[str]
    analyses: int
    reinitialisation: Moment
