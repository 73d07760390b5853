"""One filing of a company, XBRL or iXBRL, as a list of facts.

ixbrlparse does the reading (transformations, scale and sign); this module turns its objects into
plain values once, so that nothing else depends on that library. A fact that cannot be read is
counted and the rest of the filing kept; a file that is no filing raises.

Anybody may file accounts. `within_limits` and the bounds of `_BoundedTreeBuilder` make a filing that would stop the
import a rejected filing.

The key of a fact is its concept with the members of its dimensions. FRS 102 filers split a total by
due date in two ways that mean the same. They get one name: `CurrentFinancialInstruments`,
`WithinOneYear`, or both, become `WithinOneYear`.
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
from math import isfinite
from typing import IO, Any, Final, NamedTuple, NoReturn

from bs4.builder import LXMLTreeBuilderForXML, builder_registry  # type: ignore[attr-defined]
from ixbrlparse import IXBRL
from ixbrlparse.core import IXBRLParseError

from pipeline.registers import packing
from pipeline.registers.foreign_forms import ForeignFormError

COMPANY_NUMBER: Final = re.compile(r"^([A-Z]{0,2})(\d{1,8})([A-Z]?)$")
NUMBER_CONCEPTS: Final = ("UKCompaniesHouseRegisteredNumber", "CompaniesHouseRegisteredNumber")
CURRENCY: Final = re.compile(r"(?:^|:)([A-Z]{3})$")
DUE: Final = {
    "CurrentFinancialInstruments": "WithinOneYear",
    "Non-currentFinancialInstruments": "AfterOneYear",
}


# Defines an entity, which may make gigabytes of a kilobyte; no filing has one.
_ENTITY: Final = b"<!ENTITY"
MIB: Final = 1 << 20
LARGEST: Final = 64 << 20  # bytes of one filing; the largest of Virk have 20 MB
DAMAGED: Final = "fichier abîmé"
TOO_LARGE: Final = "dépôt trop volumineux"
TOO_LONG: Final = "dépôt trop long à lire"
TOO_DEEP: Final = "éléments trop imbriqués"
WRONG_SCALE: Final = "échelle ou précision invraisemblable"
MALFORMED: Final = "structure inattendue"
SECONDS: Final = 5.0  # of the processor for one filing; a usual one takes 0.1
_SECONDS_A_MIB: Final = 5.0  # in addition
DEEPEST: Final = 500  # elements in elements; filings have some 40
LARGEST_SCALE: Final = 30  # powers of ten
# Errors of libraries, of arithmetic, and of values of another shape than a filing has.
UNREADABLE: Final = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError,
    lzma.LZMAError, struct.error,
)  # fmt: skip


class FilingError(Exception):
    """A file gives no accounts, for the `reason`; `detail` holds the values that show it."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class _OverBudgetError(BaseException):
    """A filing takes too long. Not an Exception, of which ixbrlparse makes an unreadable fact."""


class Fact(NamedTuple):
    """A number of a filing. `day` is the instant, or the last day of the period from `start`."""

    key: str
    day: date
    start: date | None
    value: float
    currency: str | None
    precision: float  # decimals; infinite for an exact number


@dataclass(frozen=True, slots=True)
class Filing:
    """The facts of one filing.

    Attributes:
        company_numbers: the British numbers that the filing itself states, in the register's form.
        identifiers: the identifiers of its contexts, as published.
        unreadable: how many facts could not be read.
    """

    company_numbers: frozenset[str]
    identifiers: frozenset[str]
    facts: tuple[Fact, ...]
    unreadable: int


def company_number(text: str) -> str | None:
    """`text` in the register's form of eight characters; None if it is no company number.

    >>> company_number("9381479"), company_number("sc12345"), company_number("Normalec Limited")
    ('09381479', 'SC012345', None)
    """
    found = COMPANY_NUMBER.match(text.strip().upper())
    if not found:
        return None
    prefix, digits, suffix = found.groups()
    return f"{prefix}{digits.zfill(8 - len(prefix) - len(suffix))}{suffix}"


@contextmanager
def within_limits() -> Iterator[None]:
    """Read one filing: what its reader cannot read, or not in time, is an error of the filing.

    The time is limited in the main thread alone, where an import runs.

    Raises:
        FilingError: the block raised one of UNREADABLE, or took longer than SECONDS (`content` gives large ones more).
    """
    is_timed = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGVTALRM, _end_budget) if is_timed else None
    try:
        if is_timed:  # again later: an exception within a destructor is lost
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, SECONDS)
        yield
    except _OverBudgetError:
        raise FilingError(TOO_LONG, "plus de temps que sa taille n'explique") from None
    except UNREADABLE as error:
        raise FilingError(MALFORMED, f"{type(error).__name__}: {str(error)[:200]}") from error
    finally:
        if is_timed:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)


def _end_budget(*_: object) -> NoReturn:
    raise _OverBudgetError


def content(opened: Callable[[], IO[bytes]]) -> bytes:
    """The bytes of one filing, unpacked.

    Raises:
        FilingError: a damaged file, or one of more than LARGEST bytes.
    """
    try:
        with opened() as stream:
            found = stream.read(LARGEST + 1)
    except (ForeignFormError, *packing.BROKEN, *UNREADABLE, OSError) as error:
        raise FilingError(DAMAGED, str(error) or type(error).__name__) from error
    if len(found) > LARGEST:
        raise FilingError(TOO_LARGE, f"plus de {LARGEST >> 20} Mio")
    left, again = signal.getitimer(signal.ITIMER_VIRTUAL)
    if left:
        signal.setitimer(signal.ITIMER_VIRTUAL, left + len(found) / MIB * _SECONDS_A_MIB, again)
    return found


class _BoundedTreeBuilder(LXMLTreeBuilderForXML):  # type: ignore[misc] # the name is set at import
    """The tree builder of BeautifulSoup, which takes a time quadratic in the depth of elements.

    A scale is the exponent of a power of ten, which ixbrlparse computes as an exact integer.
    """

    def start(
        self, tag: str | bytes, attrib: dict[Any, Any], nsmap: Mapping[Any, Any] | None = None
    ) -> None:
        if len(self.nsmaps) > DEEPEST:
            raise FilingError(TOO_DEEP, f"plus de {DEEPEST}")
        for name in ("scale", "decimals"):
            if is_out_of_scale(attrib.get(name, "")):
                raise FilingError(WRONG_SCALE, f"{name} {attrib[name][:20]!r}")
        super().start(tag, attrib, dict(nsmap or {}))


builder_registry.register(_BoundedTreeBuilder)  # ixbrlparse names no builder: the last one is used


def is_out_of_scale(text: str) -> bool:
    """Whether `text` is a whole number of digits or of a scale that no filing has."""
    try:
        return abs(int(text)) > LARGEST_SCALE
    except ValueError:  # INF, or none at all
        return False


def parse(file: IO[bytes]) -> Filing:
    """Read the facts of a filing, in document order.

    Raises:
        FilingError: a file that is neither XBRL nor iXBRL, defines entities, or passes a bound.
    """
    packed = file.read()
    if _ENTITY in packed.replace(b"\0", b""):  # of UTF-16, too
        raise FilingError("ni XBRL ni iXBRL", "définition d'une entité")
    try:
        with warnings.catch_warnings():
            # The library warns of text formats that are not read here and of names of its own
            # parser. Where warnings are errors it would report them as errors of the filing.
            warnings.simplefilter("ignore")
            document = IXBRL(io.BytesIO(packed), raise_on_error=False)
    except (IXBRLParseError, *UNREADABLE) as error:
        raise FilingError("ni XBRL ni iXBRL", str(error) or type(error).__name__) from error
    facts = [_fact(number) for number in document.numeric]
    read = tuple(fact for fact in facts if fact is not None)
    return Filing(
        company_numbers=_numbers(document),
        identifiers=frozenset(_identifiers(document)),
        facts=read,
        unreadable=len(document.errors) + len(facts) - len(read),
    )


def day_before(day: date) -> date:
    """The closing date of the year before the one that `day` opens."""
    return day - timedelta(days=1)


def _fact(number: Any) -> Fact | None:
    context = number.context
    if isinstance(context, str) or number.value is None or _is_nil(number.soup_tag):
        return None
    last = context.instant or context.enddate
    value = _finite(number.value)
    if last is None or value is None:
        return None
    return Fact(
        key=_key(number.name, context.segments),
        day=last,
        start=None if context.instant else context.startdate,
        value=value,
        currency=_currency(number.unit),
        precision=_precision(number),
    )


def _finite(value: float | int) -> float | None:
    try:
        found = float(value)
    except (OverflowError, TypeError):  # a date, where the format of a number says so
        return None
    return found if isfinite(found) else None


def _is_nil(tag: Any) -> bool:
    """Whether an element is declared empty; the library reads its missing text as 0."""
    return tag is not None and any(tag.get(name) in ("true", "1") for name in ("xsi:nil", "nil"))


def _key(concept: str, segments: list[Mapping[str, str]]) -> str:
    members = {_member(segment) for segment in segments if segment.get("dimension")}
    return f"{concept}[{'+'.join(sorted(members))}]" if members else concept


def _member(segment: Mapping[str, str]) -> str:
    local = segment["value"].rpartition(":")[2]
    return DUE.get(local, local)


def _currency(unit: str | None) -> str | None:
    """The currency of a unit, GBP of `iso4217:GBP`; None for shares or persons."""
    found = CURRENCY.search(unit or "")
    return found.group(1) if found else None


def _precision(number: Any) -> float:
    decimals = getattr(number.format, "decimals", 0)
    stated = float("inf") if decimals is None else float(decimals)
    # An amount shown in thousands is no more precise than that, whatever it states.
    shown_in = float(getattr(number.format, "scale", 0) or 0)
    return min(stated, -shown_in) if shown_in > 0 else stated


def _numbers(document: Any) -> frozenset[str]:
    stated = [f.value for f in document.nonnumeric if f.name in NUMBER_CONCEPTS]
    # Many old filings have the company's name or an address as identifier; these are not numbers.
    stated += _identifiers(document)
    found = (company_number(text) for text in stated if isinstance(text, str))
    return frozenset(number for number in found if number)


def _identifiers(document: Any) -> list[str]:
    found = (context.entity.get("identifier") for context in document.contexts.values())
    return [text for text in found if isinstance(text, str)]
