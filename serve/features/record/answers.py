"""The group of a company: who consolidates it, and whom it consolidates (X12)."""

from collections.abc import Sequence
from typing import Annotated

from serve.contract.answers import CodePlan, Erreur, Motif, OffreSuivante, SocieteNommee
from serve.contract.declaration import AnswerObject, Count, KnownValues, component, part
from serve.contract.text import Text


@part("La société.", "The company.")
class SocieteDuGroupe(SocieteNommee):
    lei: Annotated[str | None, Text("Son LEI.", "Its LEI.")]


@part("Un lien du groupe.", "A link of the group.")
class Lien:
    lei: Annotated[
        str,
        Text(
            "LEI de la mère ou de la filiale (ISO 17442).",
            "LEI of the parent or child (ISO 17442).",
        ),
    ]
    societe: Annotated[
        SocieteNommee | None, Text("La société de ce LEI.", "The company of this LEI.")
    ]
    nature: Annotated[
        str,
        KnownValues(("directe", "ultime", "succursale")),
        Text(
            "Consolidation comptable directe ou ultime ; succursale d’une société étrangère.",
            "Direct or ultimate accounting consolidation; branch of a foreign company.",
        ),
    ]
    debut: Annotated[
        str | None, Text("Premier jour de la relation.", "First day of the relationship.")
    ]
    fin: Annotated[
        str | None, Text("Dernier jour de la relation.", "Last day of the relationship.")
    ]


@part("Le rôle de l’autre société.", "The role of the other company.")
class _Role:
    role: Annotated[
        str,
        KnownValues(("mere", "filiale")),
        Text(
            "Ce que l’autre était : société mère ou filiale.",
            "What the other one was: parent or child.",
        ),
    ]


@part("Un lien qui a pris fin.", "A link that has ended.")
class AncienLien(Lien, _Role):
    """The role comes first."""


@part("Une source des liens.", "A source of the links.")
class SourceDesLiens:
    source: Annotated[str, Text("Nom de la source.", "Name of the source.")]
    registre: Annotated[str, Text("L’éditeur.", "Publisher.")]
    licence: Annotated[str, Text("La licence.", "Licence.")]
    licence_adresse: Annotated[str, Text("Adresse de la licence.", "Address of the licence.")]
    attribution: Annotated[str, Text("Attribution, en français.", "Attribution, French.")]
    attribution_en: Annotated[str, Text("Attribution, en anglais.", "Attribution, English.")]
    date: Annotated[str | None, Text("La date du fichier.", "Date of the file.")]


@component("Le groupe d’une société.", "The group of a company.")
class Groupe(AnswerObject):
    societe: SocieteDuGroupe
    plan: CodePlan
    motif: Motif
    parents: Annotated[
        Sequence[Lien] | None,
        Text(
            "De la société mère directe vers le haut ; nul : rien n’est connu.",
            "From the direct parent upward; null: nothing is known.",
        ),
    ]
    tete: Lien | None
    enfants: Annotated[
        Sequence[Lien] | None,
        Text(
            "Filiales directes et succursales, par LEI ; nul : rien n’est connu.",
            "Direct children and branches, by LEI; null: nothing is known.",
        ),
    ]
    total_enfants: Annotated[
        Count | None, Text("Filiales directes et succursales.", "Direct children and branches.")
    ]
    total_consolidees: Annotated[
        Count | None,
        Text(
            "Sociétés dont elle est la mère ultime.",
            "Companies of which it is the ultimate parent.",
        ),
    ]
    anciens_liens: Annotated[
        Sequence[AncienLien] | None,
        Text(
            "Liens de la société qui ont pris fin ; nul : rien n’est connu.",
            "Links of the company that have ended; null: nothing is known.",
        ),
    ]
    sources: Annotated[
        Sequence[SourceDesLiens],
        Text(
            "D’où viennent les liens ; vide sans lien.",
            "Where the links come from; empty without links.",
        ),
    ]
    motif_code: Annotated[
        str | None,
        Text(
            "Le code de `motif` : `lei_absent` : la société n’a pas de LEI ; `aucune_relation` : "
            "les données LEI ne lui connaissent aucun lien ; `boucle` : ses sociétés mères "
            "ramènent à l’une d’elles ; `parents_coupes` : elle en a plus de 100.",
            "Code of `motif`: `lei_absent`: the company has no LEI; `aucune_relation`: the LEI "
            "data know no links of it; `boucle`: its parents lead back to one of themselves; "
            "`parents_coupes`: it has over 100.",
        ),
    ]
    offre_suivante: OffreSuivante


@component(
    "La clé n’est pas valable : ce qu’obtient un visiteur, et `erreur`.",
    "The key is not valid: what a visitor gets, and `erreur`.",
)
class GroupeRefuse(Groupe):
    erreur: Erreur
