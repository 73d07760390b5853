"""Parser of XBRL 2.1 instances: each fact gets its company, period, dimensions and currency.

Only the features that annual accounts use are read: contexts with explicit and typed members in
segment or scenario, units of one measure, items. Tuples and footnotes are skipped. Names are
local names: taxonomies of different years spell prefixes and namespaces differently.

XML with a document type is refused, so no document can define entities or make the parser fetch a file.
"""

import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import inf, isfinite, nan
from types import MappingProxyType
from typing import Final, NamedTuple

from pipeline.registers.accounts.filing import (
    CURRENCY_MEASURE,
    DEEPEST,
    NUMBER,
    TOO_DEEP,
    FilingError,
    first_day,
    last_day,
)

NO_XBRL: Final = "pas un document XBRL"
# Namespaces and names as ElementTree writes them, with the namespace in braces.
_XBRLI: Final = "{http://www.xbrl.org/2003/instance}"
_LINK: Final = "{http://www.xbrl.org/2003/linkbase}"
_HREF: Final = "{http://www.w3.org/1999/xlink}href"
_NIL: Final = "{http://www.w3.org/2001/XMLSchema-instance}nil"


class Context(NamedTuple):
    """Company, period and members of a fact. `start` and `day` are its first and last day; an instant has no `start`.

    `members` maps the local name of a dimension to the local name of its member, or to the text of
    a typed member.
    """

    scheme: str
    identifier: str
    start: date | None
    day: date
    members: Mapping[str, str]


class Item(NamedTuple):
    """A numeric fact; `currency` is None if the unit is not a currency."""

    concept: str
    context: Context
    value: float
    currency: str | None
    precision: float  # exact decimal places, negative for thousands; infinite for an exact number


@dataclass(frozen=True, slots=True)
class Instance:
    """The facts of an instance, in document order.

    Attributes:
        schema: the address of the taxonomy's entry point.
        texts: the values of facts that are not numbers, by concept.
        unreadable: the number of numeric facts whose context or number could not be read.
        unread: those of them whose context could be read; their value is NaN.
    """

    schema: str
    items: Sequence[Item]
    texts: Mapping[str, Sequence[str]]
    contexts: Sequence[Context]
    unreadable: int
    unread: Sequence[Item]

    def text(self, concept: str) -> str | None:
        """The first value of a concept whose facts are not numbers; None if the instance has no fact of the concept."""
        return next(iter(self.texts.get(concept, ())), None)


class _TreeBuilderWithoutDoctype(ET.TreeBuilder):
    """A tree builder that refuses a document type, because a document type can define entities."""

    def doctype(self, name: str, _pubid: str | None, _system: str | None) -> None:
        """Raise FilingError; the parser calls this method for a document type."""
        raise FilingError(NO_XBRL, f"déclaration DOCTYPE {name!r}")


def parse(content: bytes) -> Instance:
    """Read an instance.

    Raises:
        FilingError: the content is not XML, has a document type, or is not XBRL.
    """
    parser = ET.XMLParser(target=_TreeBuilderWithoutDoctype())
    try:
        root = ET.fromstring(content, parser)
    except ET.ParseError as error:
        raise FilingError(NO_XBRL, str(error)) from error
    _refuse_deep(root)
    if root.tag != f"{_XBRLI}xbrl":
        raise FilingError(NO_XBRL, f"racine {_local_name(root.tag)!r}")
    contexts = {
        element.get("id", ""): context
        for element in root.iterfind(f"{_XBRLI}context")
        if (context := _context(element)) is not None
    }
    units = {e.get("id", ""): _currency(e) for e in root.iterfind(f"{_XBRLI}unit")}
    items: list[Item] = []
    unread: list[Item] = []
    texts: dict[str, list[str]] = defaultdict(list)
    unreadable = 0
    for element in _facts(root):
        text = (element.text or "").strip()
        if "unitRef" not in element.keys():  # noqa: SIM118 - an Element is not a mapping
            texts[_local_name(element.tag)].append(text)
            continue
        item = _item(element, text, contexts, units)
        if item is not None:
            (items if isfinite(item.value) else unread).append(item)
        unreadable += item is None or not isfinite(item.value)
    schema = root.find(f"{_LINK}schemaRef")
    return Instance(
        schema="" if schema is None else schema.get(_HREF, ""),
        items=items,
        texts=MappingProxyType(texts),
        contexts=tuple(contexts.values()),
        unreadable=unreadable,
        unread=unread,
    )


def _refuse_deep(root: ET.Element) -> None:
    """Refuse deeply nested elements, because `itertext` of each of them reads all texts inside it again.

    Raises:
        FilingError: elements are nested deeper than DEEPEST.
    """
    elements_at_depth, depth = [root], 0
    while elements_at_depth:
        depth += 1
        if depth > DEEPEST:
            raise FilingError(TOO_DEEP, f"plus de {DEEPEST}")
        elements_at_depth = [child for element in elements_at_depth for child in element]


def _facts(root: ET.Element) -> Iterator[ET.Element]:
    """The items: children of the root with a context, except those declared empty."""
    for element in root:
        if "contextRef" in element.keys() and element.get(_NIL) not in ("true", "1"):  # noqa: SIM118
            yield element


def _item(
    element: ET.Element,
    text: str,
    contexts: Mapping[str, Context],
    units: Mapping[str, str | None],
) -> Item | None:
    """The item of a numeric element, with the value NaN if its number cannot be read; None without a context."""
    context = contexts.get(element.get("contextRef", ""))
    if context is None:
        return None
    try:
        value = float(text) if NUMBER.fullmatch(text) else nan
        decimals = element.get("decimals", "0")
        precision = inf if decimals == "INF" else float(decimals)
    except ValueError:
        value, precision = nan, 0.0
    currency = units.get(element.get("unitRef", ""))
    finite_value = value if isfinite(value) else nan
    return Item(_local_name(element.tag), context, finite_value, currency, precision)


def _context(element: ET.Element) -> Context | None:
    """Read a `context` element; None if it lacks an identifier, or a period that ends on a readable date."""
    identifier = element.find(f"{_XBRLI}entity/{_XBRLI}identifier")
    period = element.find(f"{_XBRLI}period")
    if identifier is None or period is None:
        return None
    start, period_end = period.find(f"{_XBRLI}startDate"), period.find(f"{_XBRLI}endDate")
    instant = period.find(f"{_XBRLI}instant")
    closing = last_day(_text(period_end if instant is None else instant))
    if closing is None:
        return None
    return Context(
        scheme=identifier.get("scheme", ""),
        identifier=(identifier.text or "").strip(),
        start=first_day(_text(start)),
        day=closing,
        members=MappingProxyType(dict(_members(element))),
    )


def _members(context: ET.Element) -> Iterator[tuple[str, str]]:
    """The local names of each dimension of a context and of its member."""
    for element in context.iter():
        dimension = element.get("dimension")
        if dimension is not None:
            text = "".join(element.itertext()).strip()
            yield dimension.rpartition(":")[2], text.rpartition(":")[2]


def _text(element: ET.Element | None) -> str:
    """The text of an element without blanks around it; empty if the element is missing."""
    return "" if element is None else (element.text or "").strip()


def _currency(unit: ET.Element) -> str | None:
    """The currency of a unit, such as EUR for `iso4217:EUR`; None for shares, persons and quotients."""
    measures = [(measure.text or "").strip() for measure in unit.iter(f"{_XBRLI}measure")]
    match = CURRENCY_MEASURE.search(measures[0]) if len(measures) == 1 else None
    return match.group(1) if match else None


def _local_name(tag: str) -> str:
    """The name of a tag without its namespace, which ElementTree writes before it in braces."""
    return tag.rpartition("}")[2]
