"""The guides: their addresses and titles. Features have guides of their own in the module `guides`.

The text of a guide is its template, `templates/docs/guides/{slug}.html` of the folder that lists it.
"""

from functools import cache
from typing import Final, NamedTuple

from serve.contract.feature import Product


class Guide(NamedTuple):
    """A guide at /docs/guides/{slug}, in the order of `place`; titles and summaries are French and English."""

    slug: str
    title: tuple[str, str]
    summary: tuple[str, str]
    place: int = 1_000


@cache
def guides_of(product: Product) -> dict[str, Guide]:
    """The guides of a product by slug."""
    own = [guide for module in product.modules("guides") for guide in module.GUIDES]
    return {guide.slug: guide for guide in sorted([*GUIDES, *own], key=lambda guide: guide.place)}


GUIDES: Final = (
    Guide(
        "demarrage",
        ("Démarrer en deux minutes", "Quickstart"),
        (
            "Un premier appel sans clé, une clé, une recherche, une fiche avec ses comptes.",
            "A first call without a key, a key, a search, a record with its statements.",
        ),
        place=10,
    ),
    Guide(
        "pagination",
        ("Pages et tri", "Paging and order"),
        (
            "Parcourir une recherche avec limit et offset, le total exact, le plafond de l’offre, "
            "les mêmes données d’une page à l’autre.",
            "Walk through a search with limit and offset, the exact total, the cap of the plan, "
            "the same data from page to page.",
        ),
        place=20,
    ),
    Guide(
        "erreurs",
        ("Erreurs", "Errors"),
        (
            "Tous les statuts et tous les codes, ce qu’un appel refusé coûte, quand réessayer.",
            "Every status and every code, what a refused call costs, when to try again.",
        ),
        place=30,
    ),
    Guide(
        "credits",
        ("Crédits, quotas et débit", "Credits, quotas and rates"),
        (
            "Ce que coûte chaque appel, ce que chaque offre permet, les en-têtes qui disent le reste.",
            "What each call costs, what each plan allows, the headers that tell what is left.",
        ),
        place=40,
    ),
    Guide(
        "http",
        ("HTTP, cache et versions", "HTTP, caching and versions"),
        (
            "En-têtes des réponses, ETag et 304, compression, CORS, et ce qui peut changer.",
            "Headers of answers, ETag and 304, compression, CORS, and what may change.",
        ),
        place=80,
    ),
    Guide(
        "modeles",
        ("Modèles de langage (MCP)", "Language models (MCP)"),
        (
            "Les mêmes sociétés comme outils d’un assistant : Model Context Protocol, llms.txt.",
            "The same companies as tools of an assistant: Model Context Protocol, llms.txt.",
        ),
        place=90,
    ),
)
