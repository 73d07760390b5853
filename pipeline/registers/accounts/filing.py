"""One filing of a company, XBRL or iXBRL, as a list of facts.

The library ixbrlparse reads the file (transformations, scale and sign). This module turns the objects of ixbrlparse
into plain values, so that no other module depends on that library. A fact that cannot be read is
counted, and the rest of the filing is kept; a file that is not a filing raises FilingError.

ixbrlparse deletes commas and blanks from every number, and reads an empty text as 0. So the text of a fact is first
compared with the texts that its format allows (`_LEGAL_TEXTS`). Groups of thousands must be complete even where a
format allows a separator at any place, because the comma of `1234,567` is more likely a decimal comma.

Anybody can file accounts, even accounts made to stop the import. `reading_limits` and the bounds of
`_BoundedTreeBuilder` reject such a filing.

The key of a fact is its concept with the members of its dimensions. FRS 102 filers split a total by
due date with two equivalent members, which get one name: `CurrentFinancialInstruments`,
`WithinOneYear`, or a fact with both, become `WithinOneYear`.
"""

import io
import lzma
import re
import signal
import struct
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from math import isfinite, nan
from typing import IO, Any, Final, NamedTuple, NoReturn

from bs4.builder import LXMLTreeBuilderForXML, builder_registry  # type: ignore[attr-defined]
from ixbrlparse import IXBRL
from ixbrlparse.core import IXBRLParseError

from pipeline.registers import packing
from pipeline.registers.unexpected_formats import UnexpectedFormatError

# A British company number; zeros at the beginning of its digits can be missing.
COMPANY_NUMBER: Final = re.compile(r"^([A-Z]{0,2})(\d{1,8})([A-Z]?)$")
# The concepts whose facts state the company number.
NUMBER_CONCEPTS: Final = ("UKCompaniesHouseRegisteredNumber", "CompaniesHouseRegisteredNumber")
# The measure of a unit that is a currency.
CURRENCY_MEASURE: Final = re.compile(r"(?:^|:)([A-Z]{3})$")
# A number of XBRL and JSON: xs:decimal, or xs:double with an exponent.
NUMBER: Final = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
# Member of a dimension -> the equivalent member that is used in keys.
DUE_MEMBERS: Final = {
    "CurrentFinancialInstruments": "WithinOneYear",
    "Non-currentFinancialInstruments": "AfterOneYear",
}


# A day with a time, before the end of its element.
_DAY_AND_TIME: Final = re.compile(
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[^<>]{0,20}(?=</(?:[\w-]{1,30}:)?(startDate|endDate|instant)>)"
)
# A filing that defines an entity is refused: entities can expand a kilobyte to gigabytes. Good filings define none.
_ENTITY: Final = b"<!ENTITY"
MIB: Final = 1 << 20  # bytes
LARGEST: Final = 64 << 20  # the most bytes of one filing; the largest of Virk have 20 MB
# Reasons to reject a filing.
DAMAGED: Final = "fichier abîmé"
TOO_LARGE: Final = "dépôt trop volumineux"
TOO_LONG: Final = "dépôt trop long à lire"
TOO_DEEP: Final = "éléments trop imbriqués"
WRONG_SCALE: Final = "échelle ou précision invraisemblable"
MALFORMED: Final = "structure inattendue"
PROCESSOR_SECONDS: Final = 5.0  # the most processor time for one filing; most filings take 0.1 s
_SECONDS_A_MIB: Final = 5.0  # seconds of processor time that each MiB of a filing adds
DEEPEST: Final = 500  # the most levels of nested elements; filings have about 40
LARGEST_SCALE: Final = 30  # the most powers of ten by which a filing can scale or round a number
# The errors that libraries, arithmetic and unexpected values raise while a filing is read.
UNREADABLE: Final = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError,
    lzma.LZMAError, struct.error,
)  # fmt: skip


def _number_text(separators: str, decimal_mark: str) -> re.Pattern[str]:
    """The texts of numbers without a sign: thousands separated by one of `separators`, or not separated."""
    thousands = rf"|[0-9]{{1,3}}([{separators}])[0-9]{{3}}(?:\1[0-9]{{3}})*" if separators else ""
    fraction = rf"[{decimal_mark}][0-9]+"
    return re.compile(rf"(?:[0-9]+{thousands})(?:{fraction})?|{fraction}")


def _words_text() -> re.Pattern[str]:
    """The texts of numbers in English words up to 999; ixbrlparse reads `two or three` as 5."""
    digit = "(?:one|two|three|four|five|six|seven|eight|nine)"
    teens = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
    tens = "(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
    below_hundred = f"(?:{digit}|{teens}|{tens}(?:[- ]{digit})?)"
    hundreds = f"{digit} hundred(?: and {below_hundred})?"
    return re.compile(f"no|none|zero|{below_hundred}|{hundreds}", re.IGNORECASE)


_DASH: Final = re.compile("[-\u058a\u05be\u2010-\u2015\ufe58\ufe63\uff0d]")
# Format of an inline fact, without prefix and hyphens -> the texts that it allows. The names are those of all
# transformation registries (ixt 1 to 5) that ixbrlparse computes; a fact of any other format is unreadable.
_LEGAL_TEXTS: Final[Mapping[str, re.Pattern[str]]] = {
    "numcommadot": _number_text(",", "."),
    "numspacedot": _number_text(" ", "."),
    "numdotdecimal": _number_text(", ", "."),
    "numcomma": _number_text("", ","),
    "numdotcomma": _number_text(".", ","),
    "numspacecomma": _number_text(" ", ","),
    "numcommadecimal": _number_text(". ", ","),
    "numdash": _DASH,
    "zerodash": _DASH,
    "fixedzero": re.compile(".*", re.DOTALL),
    "numwordsen": _words_text(),
}


class FilingError(Exception):
    """A file has no usable accounts; `detail` has the values that show the `reason`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class _OverBudgetError(BaseException):
    """A filing takes too long. Not an Exception: ixbrlparse would turn it into an unreadable fact."""


class Fact(NamedTuple):
    """A number of a filing. `day` is the instant, or the last day of the period from `start`."""

    key: str
    day: date
    start: date | None
    value: float  # NaN if its text is not a number; only in `unread`
    currency: str | None
    precision: float  # exact decimal places, negative for thousands; infinite for an exact number


@dataclass(frozen=True, slots=True)
class Filing:
    """The facts of one filing.

    Attributes:
        company_numbers: the British company numbers in the filing, in the register's form.
        identifiers: the identifiers of its contexts, as published.
        unreadable: the number of facts that could not be read.
        unread: those of them that have a context but no legal number. A sum with such a part is unknown.
    """

    company_numbers: frozenset[str]
    identifiers: frozenset[str]
    facts: tuple[Fact, ...]
    unreadable: int
    unread: tuple[Fact, ...]


def company_number(text: str) -> str | None:
    """`text` in the register's form of eight characters; None if `text` is not a company number.

    >>> company_number("9381479"), company_number("sc12345"), company_number("Normalec Limited")
    ('09381479', 'SC012345', None)
    """
    match = COMPANY_NUMBER.match(text.strip().upper())
    if not match:
        return None
    prefix, digits, suffix = match.groups()
    return f"{prefix}{digits.zfill(8 - len(prefix) - len(suffix))}{suffix}"


@contextmanager
def reading_limits() -> Iterator[None]:
    """Limit the reading of one filing: an error of the reader, or too much processor time, becomes a FilingError.

    Time is limited only in the main thread, where an import runs. `content` adds time for a large filing.

    Raises:
        FilingError: the block raised one of UNREADABLE, or took longer than PROCESSOR_SECONDS and the added time.
    """
    is_timed = threading.current_thread() is threading.main_thread()
    previous_handler = signal.signal(signal.SIGVTALRM, _end_budget) if is_timed else None
    try:
        if is_timed:
            # The timer repeats, because an exception that is raised in a destructor is lost.
            signal.setitimer(signal.ITIMER_VIRTUAL, PROCESSOR_SECONDS, PROCESSOR_SECONDS)
        yield
    except _OverBudgetError:
        raise FilingError(TOO_LONG, "plus de temps que sa taille n'explique") from None
    except UNREADABLE as error:
        raise FilingError(MALFORMED, f"{type(error).__name__}: {str(error)[:200]}") from error
    finally:
        if is_timed:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, previous_handler)


def _end_budget(*_: object) -> NoReturn:
    """The handler of the timer of `reading_limits`, when a filing has used its processor time."""
    raise _OverBudgetError


def content(open_file: Callable[[], IO[bytes]]) -> bytes:
    """The unpacked bytes of one filing. If `reading_limits` runs, its time is extended by the size of the filing.

    Raises:
        FilingError: a damaged file, or a file of more than LARGEST bytes.
    """
    try:
        with open_file() as stream:
            document = stream.read(LARGEST + 1)
    except (UnexpectedFormatError, *packing.BROKEN, *UNREADABLE, OSError) as error:
        raise FilingError(DAMAGED, str(error) or type(error).__name__) from error
    if len(document) > LARGEST:
        raise FilingError(TOO_LARGE, f"plus de {LARGEST >> 20} Mio")
    seconds_left, repeat_seconds = signal.getitimer(signal.ITIMER_VIRTUAL)
    if seconds_left:
        signal.setitimer(
            signal.ITIMER_VIRTUAL,
            seconds_left + len(document) / MIB * _SECONDS_A_MIB,
            repeat_seconds,
        )
    return document


class _BoundedTreeBuilder(LXMLTreeBuilderForXML):  # type: ignore[misc] # the name is set at import
    """The tree builder of BeautifulSoup with two limits.

    The depth of elements is limited, because the time of the builder is quadratic in the depth. The `scale` and
    `decimals` of numbers are limited, because ixbrlparse computes their powers of ten as exact integers.
    """

    def start(
        self, tag: str | bytes, attrib: dict[Any, Any], nsmap: Mapping[Any, Any] | None = None
    ) -> None:
        """Begin an element; FilingError if it is too deep, or its number has an absurd scale."""
        # From the first element with a namespace on, BeautifulSoup adds an entry to `nsmaps` for each open element.
        if len(self.nsmaps) > DEEPEST:
            raise FilingError(TOO_DEEP, f"plus de {DEEPEST}")
        for name in ("scale", "decimals"):
            if is_out_of_scale(attrib.get(name, "")):
                raise FilingError(WRONG_SCALE, f"{name} {attrib[name][:20]!r}")
        super().start(tag, attrib, dict(nsmap or {}))


# ixbrlparse names no builder, so the builder that was registered last is used.
builder_registry.register(_BoundedTreeBuilder)


def is_out_of_scale(text: str) -> bool:
    """Whether `text` is an integer beyond LARGEST_SCALE or its negative."""
    try:
        return abs(int(text)) > LARGEST_SCALE
    except ValueError:  # INF, or empty
        return False


def parse(file: IO[bytes]) -> Filing:
    """Read the facts of a filing, in document order.

    Raises:
        FilingError: the file is neither XBRL nor iXBRL, defines entities, or exceeds a limit of `_BoundedTreeBuilder`.
    """
    document_bytes = file.read()
    if _ENTITY in document_bytes.replace(b"\0", b""):  # in UTF-16, too
        raise FilingError("ni XBRL ni iXBRL", "définition d'une entité")
    try:
        with warnings.catch_warnings():
            # ixbrlparse warns about text formats that are not read here, and about names of its own
            # parser. If Python turns warnings into errors, ixbrlparse would count them as errors of the filing.
            warnings.simplefilter("ignore")
            document = IXBRL(io.BytesIO(_with_plain_days(document_bytes)), raise_on_error=False)
    except (IXBRLParseError, *UNREADABLE) as error:
        raise FilingError("ni XBRL ni iXBRL", str(error) or type(error).__name__) from error
    facts = [_fact(number) for number in document.numeric]
    readable_facts = tuple(fact for fact in facts if fact is not None and isfinite(fact.value))
    failed_tags = [_failed_tag(error) for error in document.errors]
    unread_facts = [
        *(fact for fact in facts if fact is not None and not isfinite(fact.value)),
        *(fact for tag in failed_tags if (fact := _unread_fact(tag, document)) is not None),
    ]
    return Filing(
        company_numbers=_numbers(document),
        identifiers=frozenset(_identifiers(document)),
        facts=readable_facts,
        unreadable=len(document.errors) + len(facts) - len(readable_facts),
        unread=tuple(unread_facts),
    )


def _with_plain_days(document: bytes) -> bytes:
    """The document with days in place of days with a time, which ixbrlparse does not read."""

    def plain_day(match: re.Match[bytes]) -> bytes:
        """The day of one period or balance."""
        read_day = first_day if match[2] == b"startDate" else last_day
        day = read_day(match[1].decode())
        return match.group() if day is None else day.isoformat().encode()

    return _DAY_AND_TIME.sub(plain_day, document)


def first_day(text: str) -> date | None:
    """The day of a date or time, with which a period begins; None if the text is not a date."""
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def last_day(text: str) -> date | None:
    """The last day of a period that ends at a date or time: midnight ends the day before (XBRL 2.1, 4.7.2).

    None if the text is not a date.
    """
    day = first_day(text)
    return day_before(day) if day and "T00:00:00" in text else day


def day_before(day: date) -> date:
    """The day before `day`: the closing date of the year before the year that begins on `day`."""
    return day - timedelta(days=1)


def _fact(number: Any) -> Fact | None:
    """The fact of a number of ixbrlparse, with the value NaN if its text is not a legal finite number.

    None if the number is declared empty, or has no context or no day.
    """
    context = number.context
    if isinstance(context, str) or _is_nil(number.soup_tag) or _is_empty_format(number.format):
        return None
    last_day = context.instant or context.enddate
    if last_day is None:
        return None
    return Fact(
        key=_key(number.name, context.segments),
        day=last_day,
        start=None if context.instant else context.startdate,
        value=_finite(number.value) if _is_legal(number) else nan,
        currency=_currency(number.unit),
        precision=_precision(number),
    )


def _failed_tag(error: Any) -> Any:
    """The element that ixbrlparse could not read; it reports an error as an object or as a dict."""
    return error["element"] if isinstance(error, dict) else error.element


def _unread_fact(tag: Any, document: Any) -> Fact | None:
    """The fact of an element that ixbrlparse could not read, with the value NaN; None if it has no context or day."""
    context = document.contexts.get(tag.get("contextRef"))
    last_day = (context.instant or context.enddate) if context else None
    if last_day is None or _is_nil(tag):
        return None
    name = str(tag.get("name") or tag.name).rpartition(":")[2]
    start = None if context.instant else context.startdate
    currency = _currency(document.units.get(tag.get("unitRef")))
    return Fact(_key(name, context.segments), last_day, start, nan, currency, 0.0)


def _is_legal(number: Any) -> bool:
    """Whether the text of a number is legal in its format, or is a number of XML if it has no format."""
    text = str(number.text).strip()
    if number.format.format is None:
        # The sign of an inline fact is an attribute; with both, the sign would be reversed twice.
        is_signed_twice = number.format.sign == "-" and text.startswith("-")
        return NUMBER.fullmatch(text) is not None and not is_signed_twice
    pattern = _LEGAL_TEXTS.get(number.format.format.replace("-", ""))
    return pattern is not None and pattern.fullmatch(text) is not None


def _is_empty_format(format_: Any) -> bool:
    """Whether a fact is declared empty by its format, such as `ixt:nocontent`."""
    return (format_.format or "").replace("-", "") in ("nocontent", "fixedempty")


def _finite(value: float | int | None) -> float:
    """`value` as a float; NaN if it is infinite, or not a number at all."""
    try:
        number = float(value)  # type: ignore[arg-type] # None raises TypeError
    except (OverflowError, TypeError):  # a date, if the format of the fact is a date format
        return nan
    return number if isfinite(number) else nan


def _is_nil(tag: Any) -> bool:
    """Whether an element is declared empty; ixbrlparse reads the missing text of such an element as 0."""
    return tag is not None and any(tag.get(name) in ("true", "1") for name in ("xsi:nil", "nil"))


def _key(concept: str, segments: list[Mapping[str, str]]) -> str:
    """The key of a fact: `Concept`, or `Concept[Member+Member]` with the members of its dimensions, sorted."""
    members = {_member(segment) for segment in segments if segment.get("dimension")}
    return f"{concept}[{'+'.join(sorted(members))}]" if members else concept


def _member(segment: Mapping[str, str]) -> str:
    """The local name of the member of a dimension, or its equivalent in DUE_MEMBERS."""
    local = segment["value"].rpartition(":")[2]
    return DUE_MEMBERS.get(local, local)


def _currency(unit: str | None) -> str | None:
    """The currency of a unit, such as GBP for `iso4217:GBP`; None for shares or persons."""
    match = CURRENCY_MEASURE.search(unit or "")
    return match.group(1) if match else None


def _precision(number: Any) -> float:
    """The exact decimal places of a number of ixbrlparse, negative for thousands; infinite for an exact number."""
    decimals = getattr(number.format, "decimals", 0)
    stated_places = float("inf") if decimals is None else float(decimals)
    # An amount shown in thousands is precise to thousands at most, whatever its `decimals` state.
    shown_in = float(getattr(number.format, "scale", 0) or 0)
    return min(stated_places, -shown_in) if shown_in > 0 else stated_places


def _numbers(document: Any) -> frozenset[str]:
    """The company numbers that a filing states in its facts or as identifiers of its contexts."""
    stated_texts = [fact.value for fact in document.nonnumeric if fact.name in NUMBER_CONCEPTS]
    # Many old filings have the name or the address of the company as identifier; `company_number` skips such texts.
    stated_texts += _identifiers(document)
    numbers = (company_number(text) for text in stated_texts if isinstance(text, str))
    return frozenset(number for number in numbers if number)


def _identifiers(document: Any) -> list[str]:
    """The identifiers of the contexts of a filing, as published."""
    identifiers = (context.entity.get("identifier") for context in document.contexts.values())
    return [text for text in identifiers if isinstance(text, str)]
