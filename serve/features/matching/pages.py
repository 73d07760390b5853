"""The pages of a list: the form that takes it, and the list that is kept.

Start at `matching`.
"""

from typing import Final

from serve.contract.text import Text
from serve.features.matching import list_file, list_page, matching_page
from serve.surfaces.site.routes import FIELDS, WebRoute

PAGES: Final = (
    WebRoute(
        "/rapprochement", "liste", matching_page.show, matching_page.match,
        remembers=True, file=list_file.LARGEST, fields=FIELDS + list_file.MOST_COLUMNS,
        menu=Text("Ma liste", "My list"), below="/listes/", place=20,
    ),
    WebRoute(
        "/listes/{code}", "liste-gardee", list_page.show, list_page.change,
        remembers=True, parameters=("verdict", "page"), secret=True, example="/listes/x",
    ),
)  # fmt: skip
