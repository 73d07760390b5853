"""The objects of GET /compte: the rights and the usage of an organisation (contract D15).

`texts.csv` has the meaning of each field.
"""

from collections.abc import Sequence

from serve.contract.answers import CodePlan, OffreSuivante, Quota
from serve.contract.declaration import AnswerObject, Component, DeclaredObject, Moment


class Cle(Component):
    id: str
    libelle: str
    fin: str
    creation: Moment
    revocation: Moment | None


class Organisation(DeclaredObject):
    id: str
    nom: str
    modules: Sequence[str]
    creation: Moment


class Limites(DeclaredObject):
    resultats_par_recherche: int
    lignes_par_appel: int
    appels_api_par_minute: int
    appels_api_par_jour: int
    exports_par_mois: int
    lignes_par_export: int
    societes_avec_comptes_par_export: int
    credits_par_mois: int
    cles_actives: int
    coordonnees: bool
    etats_financiers: bool
    essais_par_mois: int


class Compteurs(DeclaredObject):
    appels_jour: Quota
    exports_mois: Quota
    essais_mois: Quota


class CreditsDuMois(DeclaredObject):
    dotation: int
    utilises: int
    packs: int
    restants: int
    reinitialisation: Moment


class Compte(AnswerObject):
    compte: Organisation
    plan: CodePlan
    plan_souscrit: CodePlan
    outil_api: bool
    limites: Limites
    compteurs: Compteurs
    credits: CreditsDuMois
    cles: Sequence[Cle]
    offre_suivante: OffreSuivante
