"""The pages of a search: the explorer, which is the home page where nothing is searched, and what completes a text.

Start at `explorer`.
"""

from typing import Final

from serve.contract import parameters
from serve.contract.text import Text
from serve.features.search import explorer_page, suggestions_page
from serve.surfaces.site.routes import WebRoute

# A search by the form may name every country and sector, each by a parameter of its own.
_PAIRS: Final = 512
_SEARCHED: Final = frozenset(parameters.names(parameters.SEARCH))

PAGES: Final = (
    WebRoute(
        "/", "explorateur", explorer_page.explorer, parameters=_SEARCHED, pairs=_PAIRS,
        menu=Text("Explorer", "Explore"), below="/societes/", place=10,
    ),
    WebRoute(
        "/chiffres", "chiffres", explorer_page.figures, parameters=_SEARCHED, pairs=_PAIRS, closed=True
    ),
    WebRoute("/propositions", "propositions", suggestions_page.suggestions, closed=True),
)  # fmt: skip
