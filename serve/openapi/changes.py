"""The shapes of what changed since a generation (serve/modifications.py). Pure."""

from typing import Final

from serve.openapi.schema import (
    Schema,
    array,
    either,
    nullable,
    ref,
    shape,
    text,
    texts,
    truth,
    whole,
)
from shards.changes import NATURES

_GENERATION: Final = "Name of data (generation), as in `X-Donnees-Version`: "

CHANGES: Final[dict[str, Schema]] = {
    "Modification": shape(
        "A company that is gone (`supprimee`), new (`creee`) or changed (`modifiee`).",
        {
            "nature": text("Kind of change.", enum=list(NATURES)),
            "iso2": text("Country of the company."),
            "id": text("National identifier."),
            "champs": texts(
                "Only of a changed company: the fields that differ; `comptes` stands for its "
                "financial statements."
            ),
        },
        ("champs",),
    ),
    "Modifications": shape(
        "A page of what changed from one generation to the next on the way to the one served.",
        {
            "depuis": text(f"{_GENERATION}the one asked for."),
            "jusque": text(f"{_GENERATION}after these changes; the next `depuis`."),
            "generation": text(f"{_GENERATION}the one served; where `jusque` is it, that is all."),
            "total": whole("Changes in the scope; never truncated.", minimum=0),
            "limit": whole("Limit that was applied.", minimum=0),
            "plan": ref("CodePlan"),
            "plafond_resultats": whole(
                "New and changed companies that the plan may show; those that are gone are all "
                "shown.",
                minimum=0,
            ),
            "visibles": whole("Changes that the plan may show.", minimum=0),
            "tronque": truth("Whether the plan may not show them all."),
            "restantes": whole("`total` minus `visibles`.", minimum=0),
            "offre_suivante": either(ref("Offre"), {"type": "null"}),
            "suivant": nullable(text("`curseur` of the next page; null on the last one.")),
            "modifications": array(ref("Modification"), "Changes: gone, new, changed."),
        },
    ),
}
