"""Content negotiation of the website (RFC 9110 §12): French or English, a page or JSON."""

from serve.contract.errors import LANGUAGES
from serve.request import accept


def choose_language(wanted: str | None, remembered: str | None, accepted: str | None) -> str:
    """The language that the visitor chose now, or earlier, else the browser's preference.

    Args:
        accepted: the header Accept-Language.

    >>> choose_language(None, None, "de, en-GB;q=0.8, fr;q=0.5"), choose_language("fr", "en", "en")
    ('en', 'fr')
    """
    for language in (wanted, remembered):
        if language in LANGUAGES:
            return language
    return accept.language(accepted) or LANGUAGES[0]


def prefers_html(header: str | None) -> bool:
    """Does an Accept header prefer a page to JSON? A program that names neither gets JSON.

    >>> prefers_html("text/html,*/*;q=0.8"), prefers_html("*/*"), prefers_html("application/json")
    (True, False, False)
    """
    for word in accept.best_first(header):
        if word in ("text/html", "application/xhtml+xml"):
            return True
        if word.endswith(("/json", "+json")):
            return False
    return False
