"""Objects that several answers have: the plan and the next one, an error, the figures of a limit."""

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

_VISITOR: Final = "visiteur"

CodePlan = Annotated[str, ComponentName("CodePlan"), KnownValues(SLUGS)]
# A plan that can be bought.
CodeOffre = Annotated[str, KnownValues(tuple(slug for slug in SLUGS if slug != _VISITOR))]
# With `plan_souscrit`, where the plan that is paid for lacks the API tool (contract A7).
OutilApi = Annotated[bool, TextOf("OutilApi")]
# A company as it is stored; serve/contract/tables/fields.csv describes its fields.
Societe = Annotated[Mapping[str, Any], ComponentName("Societe")]


class Activite(Component):
    nace: str
    libelle: str
    libelle_en: str


def activities_of(classes: Iterable[str]) -> list[Activite]:
    """Classes of NACE with their labels."""
    named = ((code, *seed_tables.activity_labels(code)) for code in classes)
    return [Activite(nace=code, libelle=fr, libelle_en=en) for code, fr, en in named]


# The classes that `activite` names (X13).
ActivitesComprises = Annotated[Sequence[Activite], TextOf("ActivitesComprises")]


PageOffre = Annotated[str, KnownValues(("/inscription", "/tarifs"))]


class Offre(Component):
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
    code: str
    message: str


class CoutEtSolde(Component, name="Credits"):
    cout: int
    solde: int
    reinitialisation: Moment


TypeQuota = Annotated[str, KnownValues(("appels_jour", "exports_mois", "essais_mois", "debit"))]


class Quota(Component):
    type: TypeQuota
    limite: int
    utilise: int
    restant: Count
    reinitialisation: Moment


# Words that tell why a figure is null (serve/contract/reasons.py); its code stands in `motif_code`.
Motif = Annotated[str, TextOf("Motif")]

# JSON of the next plan, which is the same for all answers to a caller.
OffreSuivante = Annotated[bytes, EncodedJson(Offre | None)]


class SocieteNommee(DeclaredObject):
    """A company by its key and its name; the row of a field says which company."""

    iso2: str
    id: str
    nom: str


class DetailsErreur(DeclaredObject):
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
