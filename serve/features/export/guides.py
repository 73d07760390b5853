"""The guide of exports."""

from typing import Final

from serve.surfaces.docs.manual import Guide

GUIDES: Final = (
    Guide(
        "exports",
        ("Exporter", "Exports"),
        (
            "Toutes les sociétés d’une recherche dans un fichier.",
            "All companies of a search in a file.",
        ),
        place=70,
    ),
)
