"""The guide of matching."""

from typing import Final

from serve.surfaces.docs.manual import Guide

GUIDES: Final = (
    Guide(
        "rapprochement",
        ("Rapprocher une liste", "Matching a list"),
        (
            "Retrouver les sociétés d’un tableau de noms, de villes et de numéros ; OpenRefine.",
            "Find the companies of a table of names, towns and numbers; OpenRefine.",
        ),
        place=60,
    ),
)
