"""Values as people read them: numbers, amounts, dates, names of places and fields, in French or English. Pure.

An amount is rounded to three significant digits; a title beside it has the exact one. A value that is
not published is a dash, never a zero. Text of the data loses the characters that change the writing
direction where no element can isolate it (in a title or an attribute). The message of an error has paths as links,
moments as dates, plans by their names.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache, partial
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from quota.plans import Plan
from serve.contract import company_fields, notation, seed_tables
from serve.contract.statement_table import MOST_PERCENT, in_words
from serve.surfaces.site.page_request import PageRequest, record_path
from shards.generations.reference import Reference

NONE: Final = "–"

_FIXED: Final = "\u00a0"  # no-break space
_DIGITS: Final = 3
_STEPS: Final = (
    (Decimal(10) ** 9, "Md", "bn"),
    (Decimal(10) ** 6, "M", "m"),
    (Decimal(1_000), "k", "k"),
)
# Bidirectional embeddings, overrides, isolates and marks (UAX #9), and controls.
_UNSAFE: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\x00-\x1f\x7f-\x9f]")
# Files of the last two calendar years are `new`, of the two before `older`, and then `old`.
_AGES: Final = ((1, "new"), (3, "older"))
_SYMBOLS: Final = {"EUR": "€"}
_CODE: Final = re.compile(r"`([^`]+)`")
_LINK: Final = re.compile(r"\[([^\]]+)\]\((/[^)\s]*)\)")
_SOURCE: Final = re.compile(r"(^|; )Source ?: ")
_USER: Final = re.compile(r"[^/]*//[^/?#\\]*@")
_HOST: Final = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(/[^\s<>\"']*)?")

_PARTS: Final = re.compile(
    r"(?P<moment>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
    r"|/api/v1/societes\?(?:pays=(?P<country>[A-Z]{2})&)?q=…"
    r"|(?P<page>/(?:tarifs|inscription|connexion|compte(?:/membres)?|sources)\b)"
    r"|(?<![\w:])(?P<iso2>[A-Z]{2}):(?P<number>[\w.-]+)"
    r"|(?<=[:;] )(?P<plan>[a-z]+)(?= ;|;)|(?<=dans )(?P<inside>[a-z]+)(?= \()|(?<=part of )(?P<part>[a-z]+)(?= \()"
)


class Formatting:
    """The formats of one language."""

    def __init__(self, lang: str) -> None:
        self._lang = lang
        self._french = lang == "fr"

    def number(self, value: int | float | Decimal | None) -> str:
        """A number in full.

        >>> Formatting("en").number(1234567), Formatting("en").number(-0.5), Formatting("fr").number(None)
        ('1,234,567', '−0.5', '–')
        """
        if value is None:
            return NONE
        text = f"{Decimal(str(value)):,f}"
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        return self._localise(text)

    def money(self, value: float | None, currency: str | None = "EUR") -> str:
        """An amount, rounded.

        >>> Formatting("en").money(3_250_000_000.5), Formatting("en").money(999_999.0), Formatting("en").money(0.5)
        ('€3.25bn', '€1m', '€0.5')
        """
        if value is None:
            return NONE
        amount = Decimal(str(value))
        rounded = _round(amount)
        for step, french, english in _STEPS:
            if abs(rounded) >= step:
                return self._with_currency(rounded / step, french, english, currency)
        return self._with_currency(rounded, "", "", currency)

    def scaled(self, values: Sequence[float | None]) -> tuple[str, Sequence[str]]:
        """The unit of the greatest of these amounts, and each of them in that unit, with at most two decimals.

        >>> Formatting("fr").scaled([1_334_000_000.0, -151e6, None, 2e6])
        ('Md', ['1,33', '−0,15', '–', '≈0'])
        """
        amounts = [None if value is None else _round(Decimal(str(value))) for value in values]
        most = max((abs(amount) for amount in amounts if amount is not None), default=Decimal())
        step, french, english = next(
            (one for one in _STEPS if most >= one[0]), (Decimal(1), "", "")
        )
        return french if self._french else english, [
            NONE if amount is None else self._in_steps(amount / step) for amount in amounts
        ]

    def _in_steps(self, amount: Decimal) -> str:
        rounded = round(amount, 2)
        return "≈0" if amount and not rounded else self.number(rounded)

    def exact_amount(self, value: float | Decimal | None, currency: str | None = "EUR") -> str:
        """The same amount in full, for a title.

        >>> shown = Formatting("en")
        >>> shown.exact_amount(750_000.5), shown.exact_amount(-2.0, "GBP"), shown.exact_amount(3, None)
        ('€750,000.5', '−GBP\xa02', '3')
        """
        if value is None:
            return ""
        return self._with_currency(Decimal(str(value)), "", "", currency)

    def day(self, text: str | None) -> str:
        """A date of the data: a day, a month or a year (C8).

        >>> Formatting("fr").day("1864-05-04"), Formatting("en").day("1998-02"), Formatting("fr").day("2015")
        ('4 mai 1864', 'Feb 1998', '2015')
        """
        return notation.short_date(text, self._lang) if text else NONE

    def moment(self, moment: datetime) -> str:
        """A moment in UTC, to the minute."""
        return f"{self.day(f'{moment:%Y-%m-%d}')}, {moment:%H:%M} UTC"

    def band(self, code: str | None) -> str | None:
        """A headcount band in words; an unknown code is returned as it is.

        >>> Formatting("en").band("12"), Formatting("fr").band("53"), Formatting("fr").band("00")
        ('20–49', '10\u202f000 et plus', '0')
        """
        return notation.headcount_band(code, self._lang)

    def noun(self, count: int, singular: tuple[str, str], plural: tuple[str, str]) -> str:
        """The noun behind a count, of its French and English singular and plural.

        >>> Formatting("fr").noun(0, ("mot", "word"), ("mots", "words"))
        'mot'
        """
        french, english = plural if notation.is_plural(count, self._lang) else singular
        return french if self._french else english

    def share(self, part: int, whole: int) -> str:
        """A part of a whole in percent.

        >>> Formatting("en").share(1, 3), Formatting("en").share(1, 5000), Formatting("en").share(0, 0)
        ('33%', '<1%', '0%')
        """
        return notation.percent(self.hundredths(part, whole), self._lang)

    def hundredths(self, part: int, whole: int) -> str:
        """The same without its sign, for a table whose head has it.

        >>> [Formatting("en").hundredths(part, 1000) for part in (1, 994, 1000)]
        ['<1', '99', '100']
        """
        percent = 100 * part / whole if whole else 0
        return "<1" if 0 < percent < 1 else f"{percent:.0f}"

    def percent(self, part: float, decimals: int = 0) -> str:
        """A part of one in percent, with at least one decimal below ten.

        >>> Formatting("en").percent(0.0912), Formatting("en").percent(-1.1153), Formatting("fr").percent(0.5)
        ('9.1%', '−112%', '50\u202f%')
        >>> Formatting("en").percent(0.9873, decimals=1)
        '98.7%'
        """
        percent = Decimal(str(part)) * 100
        step = Decimal("0.1") if decimals or abs(percent) < 10 else Decimal(1)
        return notation.percent(self.number(percent.quantize(step)), self._lang)

    def signed_percent(self, part: float) -> str:
        """A change in percent with its sign.

        >>> [Formatting("en").signed_percent(part) for part in (0.25, -0.25, 0)]
        ['+25%', '−25%', '0%']
        """
        return ("+" if part > 0 else "") + self.percent(part)

    def change(self, part: float | str) -> str:
        """A change as `statement_table.change` has it: a signed percentage, a multiple, or that it means nothing.

        >>> [Formatting("en").change(part) for part in (0.25, "× 12", "n. s.")]
        ['+25%', '× 12', 'n.m.']
        """
        if isinstance(part, str):
            return in_words(part, self._lang)
        return self.signed_percent(part)

    def ratio(self, value: float, unit: str) -> str:
        """A ratio in its unit (`seeds/ratios.csv`).

        >>> Formatting("en").ratio(0.5, "part"), Formatting("fr").ratio(1.256, "fois")
        ('50%', '1,26\xa0×')
        >>> Formatting("en").ratio(66.85, "part"), Formatting("fr").ratio(-66.85, "part")
        ('> 999%', '< −999\u202f%')
        """
        if unit == "part":
            if abs(value) <= MOST_PERCENT:
                return self.percent(value)
            most = self.percent(-9.99 if value < 0 else 9.99)
            return f"{'<' if value < 0 else '>'} {most}"
        if unit == "EUR":
            return self.money(value)
        number = self.number(_round(Decimal(str(value))))
        days = "j" if self._french else "d"
        sign = {"fois": "×", "jours": days}.get(unit)
        return f"{number}{_FIXED}{sign}" if sign else number

    def span(self, seconds: int) -> str:
        """A duration in its two largest units.

        >>> Formatting("fr").span(90_061), Formatting("en").span(59)
        ('1 j 1 h', '59 s')
        """
        days = "j" if self._french else "d"
        parts: list[str] = []
        for unit, size in ((days, 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
            count, seconds = divmod(seconds, size)
            if count or parts:
                parts.append(f"{count} {unit}" if count else "")
        return " ".join(part for part in parts[:2] if part) or "0 s"

    def _with_currency(
        self, amount: Decimal, french: str, english: str, currency: str | None
    ) -> str:
        number = self.number(amount)
        if not currency:
            return f"{number}{_FIXED}{french}".strip() if self._french else f"{number}{english}"
        sign = _SYMBOLS.get(currency, currency)
        if self._french:
            return (
                f"{number}{_FIXED}{french}{sign}"
                if len(sign) < 2
                else _with_unit(number, french, sign)
            )
        minus, digits = ("−", number[1:]) if number.startswith("−") else ("", number)
        gap = "" if len(sign) < 2 else _FIXED
        return f"{minus}{sign}{gap}{digits}{english}"

    def _localise(self, text: str) -> str:
        return notation.localise(text, self._lang).replace("-", "−")


def _with_unit(number: str, letter: str, sign: str) -> str:
    """The parts that are not empty, with no-break spaces: `1,2 M GBP`."""
    return _FIXED.join(part for part in (number, letter, sign) if part)


def _round(amount: Decimal) -> Decimal:
    """The amount rounded to three significant digits."""
    if not amount:
        return amount
    places = _DIGITS - 1 - amount.adjusted()
    return amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)


@cache
def formats_of(lang: str) -> Formatting:
    """The formats of a language."""
    return Formatting(lang)


def age_class(date: str | None, year: int) -> str:
    """The class of the age of a file of that date in a calendar year; "" where no date is known.

    >>> [age_class(date, 2026) for date in ("2025-12", "2023", "2022-12-31", None)]
    ['new', 'older', 'old', '']
    """
    if date is None:
        return ""
    years = year - int(date[:4])
    return next((name for most, name in _AGES if years <= most), "old")


def plain_text(text: str | None) -> str:
    """Text of the data that is safe in a title or an attribute.

    >>> plain_text("Acme\\u202e gnp.exe")
    'Acme gnp.exe'
    """
    return unicodedata.normalize("NFC", _UNSAFE.sub("", text or ""))


def credit(attribution: str) -> str:
    """An attribution in a list of sources, without the word "source" before each of its sources.

    >>> credit("Source : Insee, base Sirene"), credit("Contains Companies House data")
    ('Insee, base Sirene', 'Contains Companies House data')
    >>> credit("Source : Bolagsverket ; Source : SCB")
    'Bolagsverket ; SCB'
    """
    return _SOURCE.sub(r"\1", attribution)


def web(url: str | None) -> str | None:
    """An address of the data that a link may lead to: http or https only, no user before the host, else None.

    >>> web("javascript:alert(1)"), web("www.abc.ee"), web("https://abc.ee"), web("https://abc.ee@x.eu")
    (None, 'https://www.abc.ee', 'https://abc.ee', None)
    """
    text = plain_text(url).strip()
    if text.lower().startswith(("http://", "https://")):
        return None if _USER.match(text) else text
    return f"https://{text}" if _HOST.fullmatch(text) else None


def _everywhere(_link: str) -> bool:
    return True


def code_and_links(text: str, leads: Callable[[str], bool] = _everywhere) -> Markup:
    """A sentence whose `words` in backticks are code, and whose [words](/path) are links.

    Args:
        leads: whether a link leads anywhere (`Pages.leads`); one that does not is its words alone.

    >>> code_and_links("`q` & [more](/docs)")
    Markup('<code>q</code> &amp; <a href="/docs">more</a>')
    """
    return code(Markup(_LINK.sub(partial(_link_or_words, leads), str(escape(text)))))


def _link_or_words(leads: Callable[[str], bool], link: re.Match[str]) -> str:
    words, address = link.groups()
    return f'<a href="{address}">{words}</a>' if leads(address) else words


def code(text: Markup) -> Markup:
    """The text with its `words` in backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(text)))


def set_in_type(label: str) -> str:
    """A label of the tables, which have the apostrophe of typewriters, with that of print."""
    return label.replace("'", "’")


def labels(request: PageRequest, reference: Reference) -> Mapping[str, str]:
    """The names of countries by code and of sectors by French label, for tables of companies."""
    return {one.iso2: request.t(one.nom_fr, one.nom_en) for one in reference.pays} | {
        one.secteur: set_in_type(request.t(one.secteur, one.secteur_en))
        for one in reference.secteurs
    }


def field_names(request: PageRequest) -> Mapping[str, str]:
    """The names of the fields of a company in the visitor's language."""
    return {one.champ: set_in_type(one.title[request.lang]) for one in company_fields.fields()}


def sub_sector_names(request: PageRequest, reference: Reference) -> Mapping[str, str]:
    """The names of sub-sectors in the visitor's language, by the French labels that the API takes."""
    labels = seed_tables.nace_labels()
    return {
        one.sous_secteur: set_in_type(
            request.t(one.sous_secteur, labels.get(one.code, ("", one.sous_secteur))[1])
        )
        for one in reference.sous_secteurs
    }


_LISTS: Final = re.compile(
    r"(?P<end>[.?!])? (?:Liste(?: des pays)?|List(?: of countries)?) ?: /api/v1/[a-z-]+(?:\?secteur=…)?"
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
    text: str,
    lang: str,
    plans: Mapping[str, Plan],
    links: Mapping[str, str] | None = None,
    leads: Callable[[str], bool] = _everywhere,
) -> Markup:
    """The text as HTML, with further `links` by their words; what an API says of its routes is left out.

    Args:
        leads: as of `code_and_links`.

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
        shown = _SHOWN[part.lastgroup or ""](part, lang, plans)
        is_link = bool(shown.address) and leads(shown.address)
        markup += escape(plain[at : part.start()])
        markup += _link(shown.address, shown.text) if is_link else escape(shown.text)
        at = part.end()
    markup += escape(plain[at:])
    for words, address in (links or {}).items():
        markup = markup.replace(escape(words), _link(address, words))
    return code(markup)


class _Shown(NamedTuple):
    """The words for a part of a message, and where they lead; "" for nowhere."""

    text: str
    address: str = ""


def _moment(part: re.Match[str], lang: str, _: Mapping[str, Plan]) -> _Shown:
    moment = datetime.fromisoformat(part["moment"])
    return _Shown(formats_of(lang).moment(moment))


def _search(part: re.Match[str], lang: str, _: Mapping[str, Plan]) -> _Shown:
    address = f"/?pays={part['country']}" if part["country"] else "/"
    return _Shown("chercher par le nom" if lang == "fr" else "search by name", address)


def _page(part: re.Match[str], lang: str, _: Mapping[str, Plan]) -> _Shown:
    return _Shown(_PAGES[part["page"]][lang == "en"], part["page"])


def _company(part: re.Match[str], _: str, __: Mapping[str, Plan]) -> _Shown:
    return _Shown(part[0], record_path(part["iso2"], part["number"]))


def _plan(part: re.Match[str], lang: str, plans: Mapping[str, Plan]) -> _Shown:
    plan = plans.get(part[0])
    return _Shown(part[0] if plan is None else plan.nom_en if lang == "en" else plan.nom)


def _link(address: str, text: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(address, text)


_SHOWN: Final[Mapping[str, Callable[[re.Match[str], str, Mapping[str, Plan]], _Shown]]] = {
    "moment": _moment,
    "": _search,
    "country": _search,
    "page": _page,
    "number": _company,
    "plan": _plan,
    "inside": _plan,
    "part": _plan,
}
