"""The preferences of a client in Accept headers (RFC 9110 §12): the language and the media type of an answer."""

from collections.abc import Iterable

from serve.contract.errors import LANGUAGES


def language(header: str | None) -> str | None:
    """The preferred language of Accept-Language among LANGUAGES; None if the header has neither.

    >>> language("de, en-GB;q=0.8, fr;q=0.5"), language("*"), language("en;q=0, fr;q=0.1")
    ('en', None, 'fr')
    """
    if not header:
        return None
    words = (word.partition("-")[0] for word in best_first(header))
    return next((word for word in words if word in LANGUAGES), None)


def best_first(header: str | None) -> Iterable[str]:
    """The items of a header by falling quality, without items of quality 0."""
    items = [item for item in qualities(header) if item[1] > 0]
    return [word for word, _ in sorted(items, key=lambda item: -item[1])]


def qualities(header: str | None) -> list[tuple[str, float]]:
    """The items of an Accept header in lower case, with their qualities, in the order of the header.

    A quality that cannot be read, or is not from 0 to 1, counts as 0: the item is not acceptable.

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
    """The value of `q` among the parameters of an item; 1 if there is no `q`."""
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                quality = float(value)
            except ValueError:
                return 0.0
            return quality if 0 <= quality <= 1 else 0.0
    return 1.0


def choose_language(requested: str | None, remembered: str | None, accepted: str | None) -> str:
    """The language that the user has chosen, now or earlier; else the preference of the browser.

    Args:
        accepted: the header Accept-Language.

    >>> choose_language(None, None, "de, en-GB;q=0.8, fr;q=0.5"), choose_language("fr", "en", "en")
    ('en', 'fr')
    """
    for chosen in (requested, remembered):
        if chosen in LANGUAGES:
            return chosen
    return language(accepted) or LANGUAGES[0]


def prefers_html(header: str | None) -> bool:
    """Whether an Accept header prefers HTML to JSON; False if it has neither.

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
    """Whether an Accept header has Markdown, at a quality no lower than HTML (RFC 9110 §12.5.1).

    >>> wants_markdown("text/markdown, text/html;q=0.9"), wants_markdown("text/html, */*")
    (True, False)
    """
    quality = dict(qualities(header))
    markdown = quality.get("text/markdown", 0.0)
    return markdown > 0.0 and markdown >= quality.get("text/html", 0.0)
