"""Changes between generations: of everything, and of what a caller watches (§2.2, X8)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import orjson

from serve.contract.answers import ActivitesComprises, CodePlan, OffreSuivante
from serve.contract.declaration import (
    ABSENT,
    AbsentKey,
    AnswerObject,
    Count,
    EncodedJson,
    KnownValues,
    component,
    members,
    part,
    with_keywords,
)
from serve.contract.text import Text
from shards.changes.change_file import CREATED, DELETED, NATURES
from shards.changes.net_changes import ENTERING, LEAVING


@component(
    "Une société disparue (`supprimee`), nouvelle (`creee`) ou modifiée (`modifiee`).",
    "A company that is gone (`supprimee`), new (`creee`) or changed (`modifiee`).",
)
class Modification:
    nature: Annotated[
        str,
        KnownValues(NATURES),
        Text("La sorte de changement.", "Kind of change."),
    ]
    iso2: Annotated[str, Text("Le pays de la société.", "Country of the company.")]
    id: Annotated[str, Text("L’identifiant national.", "National identifier.")]
    champs: Annotated[
        Sequence[str] | AbsentKey,
        Text(
            "Seulement d’une société modifiée : les champs qui diffèrent ; `comptes` vaut pour "
            "ses états financiers.",
            "Only of a changed company: the fields that differ; `comptes` stands for its "
            "financial statements.",
        ),
    ] = ABSENT


PlafondAtteint = Annotated[
    bool,
    Text(
        "Vrai sur la dernière page d’un parcours que l’offre arrête avant la fin : `restantes` "
        "changements ne sont sur aucune page. Demandez de nouveau par `pays` et par `nature`, "
        "ou relisez les sociétés.",
        "Whether this is the last page of a walk that the plan ends too early: `restantes` changes "
        "are on no page. Ask again by `pays` and by `nature`, or read the companies again.",
    ),
]


@part("Une page de changements.", "A page of changes.")
class ChangesPage(AnswerObject):
    """What both pages of changes have, before their changes."""

    depuis: Annotated[
        str,
        Text(
            "Le nom de données (génération), comme dans `X-Donnees-Version` : celle qui est "
            "demandée.",
            "Name of data (generation), as in `X-Donnees-Version`: the one asked for.",
        ),
    ]
    jusque: Annotated[
        str,
        Text(
            "Le nom de données (génération), comme dans `X-Donnees-Version` : après ces "
            "changements ; le prochain `depuis`.",
            "Name of data (generation), as in `X-Donnees-Version`: after these changes; the next "
            "`depuis`.",
        ),
    ]
    generation: Annotated[
        str,
        Text(
            "Le nom de données (génération), comme dans `X-Donnees-Version` : celle qui est "
            "servie ; si `jusque` est celle-ci, c’est tout.",
            "Name of data (generation), as in `X-Donnees-Version`: the one served; where "
            "`jusque` is it, that is all.",
        ),
    ]
    total: Annotated[
        Count,
        Text(
            "Les changements du périmètre ; jamais tronqué.",
            "Changes in the scope; never truncated.",
        ),
    ]
    limit: Annotated[Count, Text("La limite appliquée.", "Limit that was applied.")]
    plan: CodePlan
    plafond_resultats: Annotated[
        Count,
        Text(
            "Les sociétés nouvelles et modifiées que l’offre peut montrer ; les disparues et les "
            "vôtres sont toutes montrées.",
            "New and changed companies that the plan may show; those that are gone, and one's "
            "own, are all shown.",
        ),
    ]
    visibles: Annotated[
        Count, Text("Les changements que l’offre peut montrer.", "Changes that the plan may show.")
    ]
    tronque: Annotated[
        bool,
        Text(
            "Vrai si l’offre ne peut pas toutes les montrer.",
            "Whether the plan may not show them all.",
        ),
    ]
    restantes: Annotated[Count, Text("`total` moins `visibles`.", "`total` minus `visibles`.")]
    offre_suivante: OffreSuivante
    suivant: Annotated[
        str | None,
        Text(
            "Le `curseur` de la page suivante ; null sur la dernière.",
            "`curseur` of the next page; null on the last one.",
        ),
    ]


@component(
    "Une page de ce qui a changé d’une génération à la suivante, sur le chemin de celle "
    "qui est servie.",
    "A page of what changed from one generation to the next on the way to the one served.",
    name="Modifications",
)
class ListeModifications(ChangesPage):
    modifications: Annotated[
        orjson.Fragment,
        EncodedJson(Sequence[Modification]),
        Text("Les changements : disparues, nouvelles, modifiées.", "Changes: gone, new, changed."),
    ]
    plafond_atteint: PlafondAtteint = False


@component(
    "Ce qui est arrivé à une société suivie, ou qu’une recherche suivie trouve.",
    "What happened to a company that is watched, or that a watched search finds.",
)
class ModificationSuivie:
    nature: Annotated[
        str,
        KnownValues((*NATURES, LEAVING, ENTERING)),
        Text(
            "Vos propres sociétés : disparues (`supprimee`), nouvelles (`creee`), modifiées "
            "(`modifiee`). D’une recherche : plus trouvées (`sortie`), trouvées maintenant "
            "(`entree`), trouvées avant et maintenant (`modifiee`).",
            "One's own companies: gone (`supprimee`), new (`creee`), changed (`modifiee`). Of a "
            "search: found no more (`sortie`), found now (`entree`), found before and now "
            "(`modifiee`).",
        ),
    ]
    iso2: Annotated[str, Text("Le pays de la société.", "Country of the company.")]
    id: Annotated[str, Text("L’identifiant national.", "National identifier.")]
    champs: Annotated[
        Mapping[str, Annotated[Sequence[Any], with_keywords(minItems=2, maxItems=2)]] | AbsentKey,
        Text(
            "Les champs qui diffèrent, chacun avec ses valeurs d’avant et d’après ; `comptes` : "
            "s’il y a des états financiers, qui diffèrent. Les valeurs des coordonnées sont null "
            "sans le droit de les voir. Absent là où la société est nouvelle ou disparue.",
            "The fields that differ, each with its values before and after; `comptes`: whether "
            "there are financial statements, which differ. Values of contact fields are null "
            "without the right to them. Absent where the company is new or gone.",
        ),
    ] = ABSENT
    cause: (
        Annotated[
            str,
            KnownValues((CREATED, DELETED)),
            Text("Elle est nouvelle, ou disparue.", "It is new, or gone."),
        ]
        | Annotated[
            Sequence[str],
            Text(
                "Ceux des champs changés que la recherche compare.",
                "Those of the changed fields that the search compares.",
            ),
        ]
        | AbsentKey
    ) = ABSENT


@component(
    "Une page de ce qui est arrivé de `depuis` à `jusque`, quoi qu’il y ait eu entre les deux.",
    "A page of what happened from `depuis` to `jusque`, whatever lay between them.",
)
class ModificationsSuivies(ChangesPage):
    modifications: Annotated[
        Sequence[ModificationSuivie],
        Text("Les changements : disparues, nouvelles, modifiées.", "Changes: gone, new, changed."),
    ]
    ids_inconnus: Annotated[
        Sequence[str] | AbsentKey,
        Text(
            "Là où `ids` a été envoyé : ceux d’aucune société.",
            "Where `ids` were sent: those of no company.",
        ),
    ] = ABSENT
    activites_comprises: ActivitesComprises = ABSENT
    plafond_atteint: PlafondAtteint = False

    def json(self) -> bytes:
        """The answer as JSON; its changes lack the keys that are absent, too."""
        changes = [members(one) for one in self.modifications]
        return orjson.dumps({**members(self), "modifications": changes})
