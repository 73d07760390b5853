"""The guide of changes."""

from typing import Final

from serve.surfaces.docs.manual import Guide

GUIDES: Final = (
    Guide(
        "suivi",
        ("Suivre des sociétés ou une recherche", "Watching companies or a search"),
        (
            "Apprendre ce qui a changé depuis la dernière fois : créations, radiations, valeurs.",
            "Learn what changed since the last time: new companies, those gone, values.",
        ),
        place=50,
    ),
)
