"""The preferences of a client: items of Accept headers with a quality (RFC 9110 §12), the language and the form of an
answer.
"""

from collections.abc import Iterable

from serve.contract.errors import LANGUAGES


def language(header: str | None) -> str | None:
    """The language of LANGUAGES that Accept-Language likes best; None if it names neither.

    >>> language("de, en-GB;q=0.8, fr;q=0.5"), language("*"), language("en;q=0, fr;q=0.1")
    ('en', None, 'fr')
    """
    if not header:
        return None
    words = (word.partition("-")[0] for word in best_first(header))
    return next((word for word in words if word in LANGUAGES), None)


def best_first(header: str | None) -> Iterable[str]:
    """The items of a header by falling quality; those with quality 0 are not wanted."""
    items = [item for item in qualities(header) if item[1] > 0]
    return [word for word, _ in sorted(items, key=lambda item: -item[1])]


def qualities(header: str | None) -> list[tuple[str, float]]:
    """The items of such a header in lower case, each with its quality, in the order they were sent.

    A quality that is unreadable or outside of 0 to 1 is 0: the item is not wanted.

    >>> qualities("text/html, */*;q=0.8, a;q=x")
    [('text/html', 1.0), ('*/*', 0.8), ('a', 0.0)]
    """
    items = []
    for item in (header or "").lower().split(","):
        word, _, parameters = item.partition(";")
        if word.strip():
            items.append((word.strip(), _quality(parameters)))
    return items


def _quality(parameters: str) -> float:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                quality = float(value)
            except ValueError:
                return 0.0
            return quality if 0 <= quality <= 1 else 0.0
    return 1.0


def choose_language(wanted: str | None, remembered: str | None, accepted: str | None) -> str:
    """The language that the visitor chose now, or earlier, else the browser's preference.

    Args:
        accepted: the header Accept-Language.

    >>> choose_language(None, None, "de, en-GB;q=0.8, fr;q=0.5"), choose_language("fr", "en", "en")
    ('en', 'fr')
    """
    for chosen in (wanted, remembered):
        if chosen in LANGUAGES:
            return chosen
    return language(accepted) or LANGUAGES[0]


def prefers_html(header: str | None) -> bool:
    """Does an Accept header prefer a page to JSON? A program that names neither gets JSON.

    >>> prefers_html("text/html,*/*;q=0.8"), prefers_html("*/*"), prefers_html("application/json")
    (True, False, False)
    """
    for word in best_first(header):
        if word in ("text/html", "application/xhtml+xml"):
            return True
        if word.endswith(("/json", "+json")):
            return False
    return False


def wants_markdown(header: str) -> bool:
    """Does an Accept header prefer Markdown to a page for people (RFC 9110 §12.5.1)?

    >>> wants_markdown("text/markdown, text/html;q=0.9"), wants_markdown("text/html, */*")
    (True, False)
    """
    quality = dict(qualities(header))
    wanted = quality.get("text/markdown", 0.0)
    return wanted > 0.0 and wanted >= quality.get("text/html", 0.0)
