"""The guides: their addresses and titles. Their text is that of the templates of the website."""

from typing import Final, NamedTuple


class Guide(NamedTuple):
    """A guide at /docs/guides/{slug}; titles and summaries are French and English."""

    slug: str
    title: tuple[str, str]
    summary: tuple[str, str]


GUIDES: Final = (
    Guide(
        "demarrage",
        ("Démarrer en deux minutes", "Quickstart"),
        (
            "Un premier appel sans clé, une clé, une recherche, une fiche avec ses comptes.",
            "A first call without a key, a key, a search, a record with its statements.",
        ),
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
    ),
    Guide(
        "erreurs",
        ("Erreurs", "Errors"),
        (
            "Tous les statuts et tous les codes, ce qu’un appel refusé coûte, quand réessayer.",
            "Every status and every code, what a refused call costs, when to try again.",
        ),
    ),
    Guide(
        "credits",
        ("Crédits, quotas et débit", "Credits, quotas and rates"),
        (
            "Ce que coûte chaque appel, ce que chaque offre permet, les en-têtes qui disent le reste.",
            "What each call costs, what each plan allows, the headers that tell what is left.",
        ),
    ),
    Guide(
        "suivi",
        ("Suivre des sociétés ou une recherche", "Watching companies or a search"),
        (
            "Apprendre ce qui a changé depuis la dernière fois : créations, radiations, valeurs.",
            "Learn what changed since the last time: new companies, those gone, values.",
        ),
    ),
    Guide(
        "rapprochement",
        ("Rapprocher une liste", "Matching a list"),
        (
            "Retrouver les sociétés d’un tableau de noms, de villes et de numéros ; OpenRefine.",
            "Find the companies of a table of names, towns and numbers; OpenRefine.",
        ),
    ),
    Guide(
        "exports",
        ("Exporter", "Exports"),
        (
            "Toutes les sociétés d’une recherche dans un fichier.",
            "All companies of a search in a file.",
        ),
    ),
    Guide(
        "http",
        ("HTTP, cache et versions", "HTTP, caching and versions"),
        (
            "En-têtes des réponses, ETag et 304, compression, CORS, et ce qui peut changer.",
            "Headers of answers, ETag and 304, compression, CORS, and what may change.",
        ),
    ),
    Guide(
        "modeles",
        ("Modèles de langage (MCP)", "Language models (MCP)"),
        (
            "Les mêmes sociétés comme outils d’un assistant : Model Context Protocol, llms.txt.",
            "The same companies as tools of an assistant: Model Context Protocol, llms.txt.",
        ),
    ),
)
BY_SLUG: Final = {one.slug: one for one in GUIDES}
