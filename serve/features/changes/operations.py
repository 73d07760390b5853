"""Routes, prices and rights of the changes: between generations, of companies, and of a watched list."""

from typing import Final

from serve.contract.feature import Feature, Link, Operation
from serve.features.changes import answers, modifications, watch
from serve.request import json_body

_PATH: Final = "/api/v1/modifications"

FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "listChanges", _PATH, "modifications", "call", "Companies",
            modifications.modifications, answers.ListeModifications, place=80,
            account=True, parameters=modifications.PARAMETERS,
            links=[Link("further", "listChanges", {"depuis": "$response.body#/jusque"})],
        ),
        Operation(
            "watchChanges", _PATH, "modifications", "body", "Companies",
            watch.prepare_watch, answers.ModificationsSuivies, place=90,
            method="POST", account=True, body=watch.DemandeModifications, bodies=watch.BODIES,
            largest=json_body.LARGEST,
            headers=["X-Donnees-Version"],
        ),
    ),
    guides={"suivi": 50},
)  # fmt: skip
