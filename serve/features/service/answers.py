"""The answers of the checks of a service."""

from collections.abc import Sequence
from typing import Annotated

from serve.contract.declaration import (
    AnswerObject,
    component,
    with_keywords,
)
from serve.contract.text import Text


@component("Le processus est en vie.", "The process is alive.")
class Vivant(AnswerObject):
    statut: Annotated[str, with_keywords(enum=["vivant"]), Text("Toujours ainsi.", "Always so.")]


@component("Le processus peut répondre.", "The process can answer.")
class Pret(AnswerObject):
    statut: Annotated[str, with_keywords(enum=["pret"]), Text("Toujours ainsi.", "Always so.")]
    generation: Annotated[
        str, Text("Le nom des données qui sont servies.", "Name of the data that are served.")
    ]
    precedente: Annotated[
        str | None,
        Text(
            "Le nom des données d’avant ; `version` peut encore les nommer.",
            "Name of the data before; `version` may still be it.",
        ),
    ]
    refusee: Annotated[
        str | None,
        Text(
            "Le nom des données publiées si elles sont endommagées, si bien que d’autres sont "
            "servies.",
            "Name of the published data if they are damaged, so that others are served.",
        ),
    ]
    pays_manquants: Annotated[
        Sequence[str],
        Text(
            "Les pays dont les données sont endommagées ici : la réponse est 503.",
            "Countries whose data are damaged here: answered with 503.",
        ),
    ]
    pid: Annotated[int, Text("Le processus qui répond.", "Process that answers.")]
