"""Values for people: numbers, amounts, dates, names of places and fields, in French or English. Pure.

An amount is rounded to three significant digits; its title has the exact amount. A value that is not published is a
dash, not a zero. In titles and attributes, where no element can isolate text of the data, the characters that change
the writing direction are removed. In the message of an error, paths become links, moments become dates, and plans have
their names.
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
from serve.contract.statement_table import MOST_PERCENT, describe_change
from serve.surfaces.site.page_request import PageRequest, record_path
from shards.generations.reference import Reference

NONE: Final = "–"  # in place of a value that is not published

_NO_BREAK_SPACE: Final = "\u00a0"
_DIGITS: Final = 3  # significant digits of a rounded amount
# The units of large amounts, with their French and English letters.
_UNITS: Final = (
    (Decimal(10) ** 9, "Md", "bn"),
    (Decimal(10) ** 6, "M", "m"),
    (Decimal(1_000), "k", "k"),
)
# Bidirectional embeddings, overrides, isolates and marks (UAX #9), and controls.
_UNSAFE: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\x00-\x1f\x7f-\x9f]")
# The age classes of files, each after its highest age in years: files of the last two calendar years are `new`, files
# of the two years before these `older`, all others `old`.
_AGES: Final = ((1, "new"), (3, "older"))
# The symbols of currencies; other currencies are written as their codes.
_SYMBOLS: Final = {"EUR": "€"}
# In a text: words in backticks, and a link of words to a path.
_CODE: Final = re.compile(r"`([^`]+)`")
_LINK: Final = re.compile(r"\[([^\]]+)\]\((/[^)\s]*)\)")
# The word "Source" before each source of an attribution.
_SOURCE: Final = re.compile(r"(^|; )Source ?: ")
# In an address of the data: a user before the host, and a host without a scheme.
_USER: Final = re.compile(r"[^/]*//[^/?#\\]*@")
_HOST: Final = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(/[^\s<>\"']*)?")

# The parts of the message of an error that `link_routes` replaces: a moment, a search of the API, the path of a page, a
# company (`UK:00944111`), and the slug of a plan in three kinds of sentences (`plan`, `inside`, `part`).
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
        """An amount with its currency, rounded to three significant digits, in thousands, millions or billions.

        >>> Formatting("en").money(3_250_000_000.5), Formatting("en").money(999_999.0), Formatting("en").money(0.5)
        ('€3.25bn', '€1m', '€0.5')
        """
        if value is None:
            return NONE
        amount = Decimal(str(value))
        rounded = _round(amount)
        for unit, french, english in _UNITS:
            if abs(rounded) >= unit:
                return self._add_currency(rounded / unit, french, english, currency)
        return self._add_currency(rounded, "", "", currency)

    def scale(self, values: Sequence[float | None]) -> tuple[str, Sequence[str]]:
        """The unit of the largest amount, and all amounts in this unit, with at most two decimals.

        >>> Formatting("fr").scale([1_334_000_000.0, -151e6, None, 2e6])
        ('Md', ['1,33', '−0,15', '–', '≈0'])
        """
        amounts = [None if value is None else _round(Decimal(str(value))) for value in values]
        most = max((abs(amount) for amount in amounts if amount is not None), default=Decimal())
        unit, french, english = next(
            (row for row in _UNITS if most >= row[0]), (Decimal(1), "", "")
        )
        return french if self._french else english, [
            NONE if amount is None else self._scale_amount(amount / unit) for amount in amounts
        ]

    def _scale_amount(self, amount: Decimal) -> str:
        """An amount with at most two decimals; `≈0` if only zeros are left."""
        rounded = round(amount, 2)
        return "≈0" if amount and not rounded else self.number(rounded)

    def exact_amount(self, value: float | Decimal | None, currency: str | None = "EUR") -> str:
        """The amount in full, for a title.

        >>> formats = Formatting("en")
        >>> formats.exact_amount(750_000.5), formats.exact_amount(-2.0, "GBP"), formats.exact_amount(3, None)
        ('€750,000.5', '−GBP\xa02', '3')
        """
        if value is None:
            return ""
        return self._add_currency(Decimal(str(value)), "", "", currency)

    def day(self, text: str | None) -> str:
        """A date of the data: a day, a month or a year (C8).

        >>> Formatting("fr").day("1864-05-04"), Formatting("en").day("1998-02"), Formatting("fr").day("2015")
        ('4 mai 1864', 'Feb 1998', '2015')
        """
        return notation.short_date(text, self._lang) if text else NONE

    def moment(self, moment: datetime) -> str:
        """A moment in UTC, to the minute: `22 nov. 2026, 14:05 UTC`."""
        return f"{self.day(f'{moment:%Y-%m-%d}')}, {moment:%H:%M} UTC"

    def band(self, code: str | None) -> str | None:
        """A headcount band in words; an unknown code is returned unchanged.

        >>> Formatting("en").band("12"), Formatting("fr").band("53"), Formatting("fr").band("00")
        ('20–49', '10\u202f000 et plus', '0')
        """
        return notation.headcount_band(code, self._lang)

    def noun(self, count: int, singular: tuple[str, str], plural: tuple[str, str]) -> str:
        """The noun after a count: `singular` or `plural`, each in French and English.

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
        """A part of a whole in percent without the percent sign, for a table whose heading has the sign.

        >>> [Formatting("en").hundredths(part, 1000) for part in (1, 994, 1000)]
        ['<1', '99', '100']
        """
        percent = 100 * part / whole if whole else 0
        return "<1" if 0 < percent < 1 else f"{percent:.0f}"

    def percent(self, fraction: float, decimals: int = 0) -> str:
        """A fraction in percent; one decimal below 10 %, or at any size if `decimals` is 1.

        >>> Formatting("en").percent(0.0912), Formatting("en").percent(-1.1153), Formatting("fr").percent(0.5)
        ('9.1%', '−112%', '50\u202f%')
        >>> Formatting("en").percent(0.9873, decimals=1)
        '98.7%'
        """
        percent = Decimal(str(fraction)) * 100
        precision = Decimal("0.1") if decimals or abs(percent) < 10 else Decimal(1)
        return notation.percent(self.number(percent.quantize(precision)), self._lang)

    def signed_percent(self, fraction: float) -> str:
        """A change in percent with its sign.

        >>> [Formatting("en").signed_percent(part) for part in (0.25, -0.25, 0)]
        ['+25%', '−25%', '0%']
        """
        return ("+" if fraction > 0 else "") + self.percent(fraction)

    def change(self, change: float | str) -> str:
        """A change from `statement_table.change`: a signed percentage, a multiple, or "not meaningful".

        >>> [Formatting("en").change(part) for part in (0.25, "× 12", "n. s.")]
        ['+25%', '× 12', 'n.m.']
        """
        if isinstance(change, str):
            return describe_change(change, self._lang)
        return self.signed_percent(change)

    def ratio(self, value: float, unit: str) -> str:
        """A ratio in its unit: a `part` in percent, `EUR`, a multiple (`fois`) or days (`jours`).

        >>> Formatting("en").ratio(0.5, "part"), Formatting("fr").ratio(1.256, "fois")
        ('50%', '1,26\xa0×')
        >>> Formatting("en").ratio(66.85, "part"), Formatting("fr").ratio(-66.85, "part")
        ('> 999%', '< −999\u202f%')
        """
        if unit == "part":
            if abs(value) <= MOST_PERCENT:
                return self.percent(value)
            # The exact figure of a larger ratio means nothing, so it is shown as more than 999 %.
            bound = self.percent(-9.99 if value < 0 else 9.99)
            return f"{'<' if value < 0 else '>'} {bound}"
        if unit == "EUR":
            return self.money(value)
        number = self.number(_round(Decimal(str(value))))
        days = "j" if self._french else "d"
        symbol = {"fois": "×", "jours": days}.get(unit)
        return f"{number}{_NO_BREAK_SPACE}{symbol}" if symbol else number

    def span(self, seconds: int) -> str:
        """A duration in its two largest units.

        >>> Formatting("fr").span(90_061), Formatting("en").span(59)
        ('1 j 1 h', '59 s')
        """
        days = "j" if self._french else "d"
        parts: list[str] = []
        for unit, size in ((days, 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
            count, seconds = divmod(seconds, size)
            # A unit between the two largest may be zero: its empty part keeps smaller units out.
            if count or parts:
                parts.append(f"{count} {unit}" if count else "")
        return " ".join(part for part in parts[:2] if part) or "0 s"

    def _add_currency(
        self, amount: Decimal, french: str, english: str, currency: str | None
    ) -> str:
        """An amount with the letter of its unit (`french` or `english`) and its currency."""
        number = self.number(amount)
        if not currency:
            return (
                f"{number}{_NO_BREAK_SPACE}{french}".strip()
                if self._french
                else f"{number}{english}"
            )
        symbol = _SYMBOLS.get(currency, currency)
        # A symbol is next to the number or the unit; a code, which is longer, is separated by a space.
        if self._french:
            return (
                f"{number}{_NO_BREAK_SPACE}{french}{symbol}"
                if len(symbol) < 2
                else _add_unit(number, french, symbol)
            )
        minus, digits = ("−", number[1:]) if number.startswith("−") else ("", number)
        gap = "" if len(symbol) < 2 else _NO_BREAK_SPACE
        return f"{minus}{symbol}{gap}{digits}{english}"

    def _localise(self, text: str) -> str:
        """A number with the separators of the language and a true minus sign."""
        return notation.localise(text, self._lang).replace("-", "−")


def _add_unit(number: str, letter: str, currency: str) -> str:
    """The parts that are not empty, with no-break spaces: `1,2 M GBP`."""
    return _NO_BREAK_SPACE.join(part for part in (number, letter, currency) if part)


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
    """The age class of a file of this date in a calendar year; "" without a date.

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
    """An address of the data as a safe link: http or https, without a user before the host; else None.

    >>> web("javascript:alert(1)"), web("www.abc.ee"), web("https://abc.ee"), web("https://abc.ee@x.eu")
    (None, 'https://www.abc.ee', 'https://abc.ee', None)
    """
    text = plain_text(url).strip()
    if text.lower().startswith(("http://", "https://")):
        return None if _USER.match(text) else text
    return f"https://{text}" if _HOST.fullmatch(text) else None


def _everywhere(_link: str) -> bool:
    """The default of `leads`: every link leads to a page."""
    return True


def code_and_links(text: str, leads: Callable[[str], bool] = _everywhere) -> Markup:
    """A text as HTML: `words` in backticks become code, [words](/path) become links.

    Args:
        leads: whether a link leads to a page (`Pages.leads`); if not, only its words are shown.

    >>> code_and_links("`q` & [more](/docs)")
    Markup('<code>q</code> &amp; <a href="/docs">more</a>')
    """
    return code(Markup(_LINK.sub(partial(_link_or_words, leads), str(escape(text)))))


def _link_or_words(leads: Callable[[str], bool], link: re.Match[str]) -> str:
    """A link as HTML, or its words if it leads to no page."""
    words, address = link.groups()
    return f'<a href="{address}">{words}</a>' if leads(address) else words


def code(text: Markup) -> Markup:
    """The text with `words` in backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(text)))


def set_in_type(label: str) -> str:
    """A label of the tables with typographic apostrophes."""
    return label.replace("'", "’")


def labels(request: PageRequest, reference: Reference) -> Mapping[str, str]:
    """The names of countries by code and of sectors by French label, for tables of companies."""
    return {sector.iso2: request.t(sector.nom_fr, sector.nom_en) for sector in reference.pays} | {
        sector.secteur: set_in_type(request.t(sector.secteur, sector.secteur_en))
        for sector in reference.secteurs
    }


def field_names(request: PageRequest) -> Mapping[str, str]:
    """The names of the fields of a company in the visitor's language."""
    return {
        field.champ: set_in_type(field.title[request.lang]) for field in company_fields.fields()
    }


def sub_sector_names(request: PageRequest, reference: Reference) -> Mapping[str, str]:
    """The names of sub-sectors in the visitor's language, by the French labels that the API takes."""
    labels = seed_tables.nace_labels()
    return {
        sub_sector.sous_secteur: set_in_type(
            request.t(
                sub_sector.sous_secteur,
                labels.get(sub_sector.code, ("", sub_sector.sous_secteur))[1],
            )
        )
        for sub_sector in reference.sous_secteurs
    }


# The reference to a list of the API at the end of a message, which pages leave out.
_LISTS: Final = re.compile(
    r"(?P<end>[.?!])? (?:Liste(?: des pays)?|List(?: of countries)?) ?: /api/v1/[a-z-]+(?:\?secteur=…)?"
)

# The French and English words of the links to pages.
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
    """The message of an error as HTML, for a page: routes of the API are removed or become links to pages.

    Args:
        links: further links, by their words.
        leads: as in `code_and_links`.

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
    plain = _LISTS.sub(lambda match: match["end"] or ".", text)
    markup, position = Markup(), 0
    for match in _PARTS.finditer(plain):
        replacement = _REPLACEMENTS[match.lastgroup or ""](match, lang, plans)
        is_link = bool(replacement.address) and leads(replacement.address)
        markup += escape(plain[position : match.start()])
        markup += (
            _link(replacement.address, replacement.text) if is_link else escape(replacement.text)
        )
        position = match.end()
    markup += escape(plain[position:])
    for words, address in (links or {}).items():
        markup = markup.replace(escape(words), _link(address, words))
    return code(markup)


class _Replacement(NamedTuple):
    """The words that replace a part of a message, and the address of their link, "" without a link."""

    text: str
    address: str = ""


# The functions that replace a part of a message; `_REPLACEMENTS` has them by the name of the group in `_PARTS`.


def _moment(match: re.Match[str], lang: str, _: Mapping[str, Plan]) -> _Replacement:
    """A moment in UTC becomes a date with a time."""
    moment = datetime.fromisoformat(match["moment"])
    return _Replacement(formats_of(lang).moment(moment))


def _search(match: re.Match[str], lang: str, _: Mapping[str, Plan]) -> _Replacement:
    """A search of the API becomes a link to the search page, with the country if the message names one."""
    address = f"/?pays={match['country']}" if match["country"] else "/"
    return _Replacement("chercher par le nom" if lang == "fr" else "search by name", address)


def _page(match: re.Match[str], lang: str, _: Mapping[str, Plan]) -> _Replacement:
    """The path of a page becomes words that link to it."""
    return _Replacement(_PAGES[match["page"]][lang == "en"], match["page"])


def _company(match: re.Match[str], _: str, __: Mapping[str, Plan]) -> _Replacement:
    """A company such as `UK:00944111` becomes a link to its record."""
    return _Replacement(match[0], record_path(match["iso2"], match["number"]))


def _plan(match: re.Match[str], lang: str, plans: Mapping[str, Plan]) -> _Replacement:
    """The slug of a plan becomes its name; another word is unchanged."""
    plan = plans.get(match[0])
    return _Replacement(match[0] if plan is None else plan.nom_en if lang == "en" else plan.nom)


def _link(address: str, words: str) -> Markup:
    """A link as HTML; `Markup.format` escapes its address and its words."""
    return Markup('<a href="{}">{}</a>').format(address, words)


# By the name of a group in `_PARTS`; the group of a search without a country has no name.
_REPLACEMENTS: Final[
    Mapping[str, Callable[[re.Match[str], str, Mapping[str, Plan]], _Replacement]]
] = {
    "moment": _moment,
    "": _search,
    "country": _search,
    "page": _page,
    "number": _company,
    "plan": _plan,
    "inside": _plan,
    "part": _plan,
}
