"""The pages of a product: each feature lists its own in `PAGES` of its module `pages`."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final
from urllib.parse import unquote

from serve.access.call import Response
from serve.contract.feature import Product
from serve.contract.text import Text

FIELDS: Final = 32
PAIRS: Final = 64
# It takes a PageRequest, whose context has the pages.
PageHandler = Callable[..., Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class WebRoute:
    """A path of the website, and its handler per method.

    Attributes:
        path: with the names of its variable parts: `/societes/{iso}/{id}`.
        get: shows the page, for GET and HEAD.
        post: processes a form.
        personal: only for people who are logged in; others are redirected to the log-in.
        remembers: has a form for visitors, whose browser must be recognized when it is sent.
        file: the largest form with a file, in bytes; 0 where no form has one.
        fields: as many as a form may have.
        parameters: those of its query that its links to itself repeat.
        pairs: as many parameters as a query may have.
        kept: the page is the same for all who are not logged in, until the next generation.
        signature: the header with the signature of a message that is no form; "" for forms.
        guarded: a form must come from a page of this server (all but those that do nothing).
        menu: its name in the menu; such a page is in the sitemap, too.
        below: the beginning of the paths that belong to it in the menu.
        place: menu and sitemap are in the order of places.
        closed: crawlers are told to leave it alone.
        secret: whoever reads its address has a right with it.
        example: a path of it, where it has variable parts.
        is_file: counted as a file of a page, not as a page.
        has: whether its variable part has this value; other paths are no page.
    """

    path: str
    name: str
    get: PageHandler | None = None
    post: PageHandler | None = None
    personal: bool = False
    remembers: bool = False
    file: int = 0
    fields: int = FIELDS
    parameters: Collection[str] = ()
    pairs: int = PAIRS
    kept: bool = False
    signature: str = ""
    guarded: bool = True
    menu: Text | None = None
    below: str = ""
    place: int = 1_000
    closed: bool = False
    secret: bool = False
    example: str = ""
    is_file: bool = False
    has: Callable[[str], bool] | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        return (*(("GET", "HEAD") if self.get else ()), *(("POST",) if self.post else ()))


class Pages:
    """The pages of a product, by path."""

    def __init__(self, pages: Collection[WebRoute]) -> None:
        self.all: Final = tuple(pages)
        self.menu: Final = sorted(
            (page for page in pages if page.menu), key=lambda page: page.place
        )
        self.closed: Final = tuple(page.path for page in pages if page.closed)
        # The beginnings of paths that end with a token, or with the code of a list.
        self.secret: Final = tuple(page.path.partition("{")[0] for page in pages if page.secret)
        self._plain: Final = {page.path: page for page in pages if "{" not in page.path}
        self._variable: Final = [
            (tuple("" if part.startswith("{") else part for part in page.path.split("/")[1:]), page)
            for page in pages
            if "{" in page.path
        ]

    def __contains__(self, path: str) -> bool:
        """Whether a page has this path, with the names of its variable parts."""
        return any(page.path == path for page in self.all)

    def examples(self) -> Mapping[str, WebRoute]:
        """A path of each route."""
        return {page.example or page.path: page for page in self.all}

    def resolve(self, raw: str) -> tuple[WebRoute, tuple[str, ...]] | None:
        """The route of a path, with its variable parts decoded; None if there is none.

        `/societes/AT/FN%2F1` is the record with `("AT", "FN/1")`.
        """
        if page := self._plain.get(raw if raw == "/" else raw.removesuffix("/")):
            return page, ()
        parts = raw.split("/")[1:]
        for segments, page in self._variable:
            if len(segments) == len(parts) and all(
                fixed in ("", part) for fixed, part in zip(segments, parts, strict=True)
            ):
                # As in serve/http/router.py, bytes that are not UTF-8 become U+FFFD, which no company has.
                variable = tuple(
                    unquote(part.encode("utf-8", "surrogateescape"))
                    for fixed, part in zip(segments, parts, strict=True)
                    if not fixed
                )
                return (page, variable) if page.has is None or page.has(*variable) else None
        return None


@cache
def pages_of(product: Product) -> Pages:
    """The pages of the features and surfaces of a product."""
    return Pages([page for module in product.modules("pages") for page in module.PAGES])
