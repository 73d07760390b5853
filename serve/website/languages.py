"""What a visitor reads: French or English, a page or JSON (RFC 9110 §12)."""

from collections.abc import Iterable
from typing import Final

LANGUAGES: Final = ("fr", "en")  # the first is the default, as in the API (§4.6)


def chosen(asked: str | None, remembered: str | None, accepted: str | None) -> str:
    """The language that was asked for, else the one remembered, else the browser's favourite.

    >>> chosen(None, None, "de, en-GB;q=0.8, fr;q=0.5"), chosen("fr", "en", "en")
    ('en', 'fr')
    """
    for one in (asked, remembered):
        if one in LANGUAGES:
            return one
    for word in _by_quality(accepted):
        if (language := word.partition("-")[0]) in LANGUAGES:
            return language
    return LANGUAGES[0]


def prefers_html(accept: str | None) -> bool:
    """Would the client rather read a page than JSON? A program that names neither gets JSON.

    >>> prefers_html("text/html,*/*;q=0.8"), prefers_html("*/*"), prefers_html("application/json")
    (True, False, False)
    """
    for word in _by_quality(accept):
        if word in ("text/html", "application/xhtml+xml"):
            return True
        if word.endswith(("/json", "+json")):
            return False
    return False


def _by_quality(header: str | None) -> Iterable[str]:
    """The items of an Accept header, the best first; those with quality 0 are left out."""
    found: list[tuple[float, int, str]] = []
    for item in (header or "").lower().split(","):
        word, _, rest = item.strip().partition(";")
        quality = _quality(rest)
        if word.strip() and quality > 0:
            found.append((-quality, len(found), word.strip()))
    return [word for _, _, word in sorted(found)]


def _quality(parameters: str) -> float:
    for parameter in parameters.split(";"):
        name, _, value = parameter.strip().partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
