"""The message of an error as a person reads it: paths as links, moments as dates, plans by their names. Pure."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from markupsafe import Markup, escape

from quota.plans import Plan
from serve.surfaces.site import formatting

_LISTS: Final = re.compile(
    r"(?P<end>[.?!])? (?:Liste(?: des pays)?|List(?: of countries)?) ?: /api/v1/[a-z-]+(?:\?secteur=…)?"
)
_PARTS: Final = re.compile(
    r"(?P<moment>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
    r"|/api/v1/societes\?(?:pays=(?P<country>[A-Z]{2})&)?q=…"
    r"|(?P<page>/(?:tarifs|inscription|connexion|compte(?:/membres)?|sources)\b)"
    r"|(?<![\w:])(?P<iso2>[A-Z]{2}):(?P<number>[\w.-]+)"
    r"|(?<=[:;] )(?P<plan>[a-z]+)(?= ;|;)|(?<=dans )(?P<inside>[a-z]+)(?= \()|(?<=part of )(?P<part>[a-z]+)(?= \()"
)
_PAGES: Final[Mapping[str, tuple[str, str]]] = {
    "/tarifs": ("les offres", "the plans"),
    "/inscription": ("créer un compte", "sign up"),
    "/connexion": ("se connecter", "log in"),
    "/compte": ("mon compte", "my account"),
    "/compte/membres": ("les membres", "the members"),
    "/sources": ("les sources", "the sources"),
}


def link_routes(
    text: str, lang: str, plans: Mapping[str, Plan], links: Mapping[str, str] | None = None
) -> Markup:
    """The text as HTML, with further `links` by their words; what an API says of its routes is left out.

    >>> link_routes("Pays inconnu : 'ZZ'. Liste des pays : /api/v1/pays", "fr", {})
    Markup('Pays inconnu : &#39;ZZ&#39;.')
    >>> link_routes("Did you mean DE? List of countries: /api/v1/pays", "en", {})
    Markup('Did you mean DE?')
    >>> link_routes("Near: UK:00944111", "en", {})
    Markup('Near: <a href="/societes/UK/00944111">UK:00944111</a>')
    >>> link_routes("`pays` is unknown.", "en", {})
    Markup('<code>pays</code> is unknown.')
    >>> link_routes("Did you mean Malta (MT)?", "en", {}, {"Malta (MT)": "/?pays=MT"})
    Markup('Did you mean <a href="/?pays=MT">Malta (MT)</a>?')
    """
    plain = _LISTS.sub(lambda part: part["end"] or ".", text)
    markup, at = Markup(), 0
    for part in _PARTS.finditer(plain):
        markup += escape(plain[at : part.start()]) + _SHOWN[part.lastgroup or ""](part, lang, plans)
        at = part.end()
    markup += escape(plain[at:])
    for words, address in (links or {}).items():
        markup = markup.replace(escape(words), _link(address, words))
    return formatting.code(markup)


def _moment(part: re.Match[str], lang: str, _: Mapping[str, Plan]) -> Markup:
    moment = datetime.fromisoformat(part["moment"])
    return escape(formatting.formats_of(lang).moment(moment))


def _search(part: re.Match[str], lang: str, _: Mapping[str, Plan]) -> Markup:
    address = f"/?pays={part['country']}" if part["country"] else "/"
    return _link(address, "chercher par le nom" if lang == "fr" else "search by name")


def _page(part: re.Match[str], lang: str, _: Mapping[str, Plan]) -> Markup:
    return _link(part["page"], _PAGES[part["page"]][lang == "en"])


def _company(part: re.Match[str], _: str, __: Mapping[str, Plan]) -> Markup:
    return _link(formatting.record_path(part["iso2"], part["number"]), part[0])


def _plan(part: re.Match[str], lang: str, plans: Mapping[str, Plan]) -> Markup:
    known = plans.get(part[0])
    return escape(part[0] if known is None else known.nom_en if lang == "en" else known.nom)


def _link(address: str, text: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(address, text)


_SHOWN: Final[Mapping[str, Callable[[re.Match[str], str, Mapping[str, Plan]], Markup]]] = {
    "moment": _moment,
    "": _search,
    "country": _search,
    "page": _page,
    "number": _company,
    "plan": _plan,
    "inside": _plan,
    "part": _plan,
}
