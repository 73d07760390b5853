"""The objects of the public lists: countries, sectors, sub-sectors, sources (§4.1 to §4.3, X9).

`texts.csv` has the meaning of each field.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

from serve.contract.declaration import (
    AnswerObject,
    Component,
    Count,
    Keywords,
    KnownValues,
    Moment,
)


class PaysDeListe(Component, name="Pays"):
    iso2: str
    slug: str
    nom_fr: str
    nom_en: str
    devise: str
    registre: str
    n_societes: Count


class ListePays(AnswerObject):
    total: Count
    pays: Sequence[PaysDeListe]


class SecteurDeListe(Component, name="Secteur"):
    secteur: str
    secteur_en: str
    slug: str
    grand_secteur: str
    n_societes: Count


class ListeSecteurs(AnswerObject):
    total: Count
    secteurs: Sequence[SecteurDeListe]


class SousSecteurDeListe(Component, name="SousSecteur"):
    sous_secteur: str
    n_societes: Count
    sous_secteur_en: str


class Perimetre(Component):
    pays: Sequence[str]
    secteurs: Sequence[str]


class ListeSousSecteurs(AnswerObject):
    total: Count
    perimetre: Perimetre
    sous_secteurs: Sequence[SousSecteurDeListe]


class Licence(Component):
    nom: str
    adresse: str | None
    attribution: str
    attribution_en: str


OrigineDate = Annotated[str, KnownValues(("contenu", "nom", "indiquee", "inconnue"))]


class FichierSource(Component):
    nom: str
    date: str | None
    origine_date: OrigineDate


TableSource = Annotated[str, KnownValues(("societes", "comptes"))]


class SourceDeDonnees(Component, name="Source"):
    source: str
    table: TableSource
    complement: bool
    registre: str
    adresse: str | None
    licence: Licence
    date_source: str | None
    importe: Moment
    lignes: Count
    fichiers: Sequence[FichierSource]


PartConnue = Annotated[float, Keywords(minimum=0, maximum=1)]


class SourcesPays(Component):
    iso2: str
    slug: str
    nom_fr: str
    nom_en: str
    registre: str
    n_societes: Count
    date_source: str | None
    sources: Sequence[SourceDeDonnees]
    champs: Mapping[str, PartConnue]


class ListeSources(AnswerObject):
    total: Count
    date_min: str | None
    date_max: str | None
    pays_sans_donnees: Sequence[str]
    pays: Sequence[SourcesPays]
