"""An XBRL 2.1 instance as facts, their contexts resolved. Pure: bytes in, values out.

Only what instances of annual accounts use is read: contexts with explicit and typed members in
segment or scenario, units of one measure, items. Tuples and footnotes are passed over. Names are
local names: taxonomies of different years spell prefixes and namespaces differently.

XML is parsed without a document type: no entity is defined, and nothing is fetched.
"""

import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import inf, isfinite
from types import MappingProxyType
from typing import Final, NamedTuple

from pipeline.registers.accounts.filing import CURRENCY, DEEPEST, TOO_DEEP, FilingError

NO_XBRL: Final = "pas un document XBRL"
_XBRLI: Final = "{http://www.xbrl.org/2003/instance}"
_LINK: Final = "{http://www.xbrl.org/2003/linkbase}"
_HREF: Final = "{http://www.w3.org/1999/xlink}href"
_NIL: Final = "{http://www.w3.org/2001/XMLSchema-instance}nil"


class Context(NamedTuple):
    """Company, period and members of a fact. `start` is null for an instant.

    `members` leads from the local name of a dimension to that of its member, or to the text of a
    typed one.
    """

    scheme: str
    identifier: str
    start: date | None
    day: date
    members: Mapping[str, str]


class Item(NamedTuple):
    """A numeric fact; `currency` is null where the unit is no currency."""

    concept: str
    context: Context
    value: float
    currency: str | None
    precision: float  # decimals; infinite for an exact number


@dataclass(frozen=True, slots=True)
class Instance:
    """The facts of an instance, in document order.

    Attributes:
        schema: the address of the taxonomy's entry point.
        texts: the values of facts that are no numbers, by concept.
        unreadable: how many facts have no context, no number or no period that can be read.
    """

    schema: str
    items: Sequence[Item]
    texts: Mapping[str, Sequence[str]]
    contexts: Sequence[Context]
    unreadable: int

    def text(self, concept: str) -> str | None:
        """The first value of a concept that is no number."""
        return next(iter(self.texts.get(concept, ())), None)


class _NoDocumentType(ET.TreeBuilder):
    """A tree without entities: a document type, the only place to define one, is refused."""

    def doctype(self, name: str, _pubid: str | None, _system: str | None) -> None:
        raise FilingError(NO_XBRL, f"déclaration DOCTYPE {name!r}")


def parse(content: bytes) -> Instance:
    """Read an instance.

    Raises:
        FilingError: no XML, XML with a document type, or no XBRL.
    """
    parser = ET.XMLParser(target=_NoDocumentType())
    try:
        root = ET.fromstring(content, parser)
    except ET.ParseError as error:
        raise FilingError(NO_XBRL, str(error)) from error
    _refuse_deep(root)
    if root.tag != f"{_XBRLI}xbrl":
        raise FilingError(NO_XBRL, f"racine {_local_name(root.tag)!r}")
    contexts = {
        element.get("id", ""): found
        for element in root.iterfind(f"{_XBRLI}context")
        if (found := _context(element)) is not None
    }
    units = {e.get("id", ""): _currency(e) for e in root.iterfind(f"{_XBRLI}unit")}
    items: list[Item] = []
    texts: dict[str, list[str]] = defaultdict(list)
    unreadable = 0
    for element in _facts(root):
        text = (element.text or "").strip()
        if "unitRef" not in element.keys():  # noqa: SIM118 - an Element is no mapping
            texts[_local_name(element.tag)].append(text)
            continue
        item = _item(element, text, contexts, units)
        if item is not None:
            items.append(item)
        unreadable += item is None
    schema = root.find(f"{_LINK}schemaRef")
    return Instance(
        schema="" if schema is None else schema.get(_HREF, ""),
        items=items,
        texts=MappingProxyType(texts),
        contexts=tuple(contexts.values()),
        unreadable=unreadable,
    )


def _refuse_deep(root: ET.Element) -> None:
    """Refuse elements in elements whose texts, one by one, would be those of all others.

    Raises:
        FilingError: they are deeper than DEEPEST.
    """
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise FilingError(TOO_DEEP, f"plus de {DEEPEST}")
        level = [child for element in level for child in element]


def _facts(root: ET.Element) -> Iterator[ET.Element]:
    """The items: children of the root with a context, unless they are declared empty."""
    for element in root:
        if "contextRef" in element.keys() and element.get(_NIL) not in ("true", "1"):  # noqa: SIM118
            yield element


def _item(
    element: ET.Element,
    text: str,
    contexts: Mapping[str, Context],
    units: Mapping[str, str | None],
) -> Item | None:
    context = contexts.get(element.get("contextRef", ""))
    try:
        value = float(text)
        decimals = element.get("decimals", "0")
        precision = inf if decimals == "INF" else float(decimals)
    except ValueError:
        return None
    if context is None or not isfinite(value):
        return None
    currency = units.get(element.get("unitRef", ""))
    return Item(_local_name(element.tag), context, value, currency, precision)


def _context(element: ET.Element) -> Context | None:
    identifier = element.find(f"{_XBRLI}entity/{_XBRLI}identifier")
    period = element.find(f"{_XBRLI}period")
    if identifier is None or period is None:
        return None
    start, last = period.find(f"{_XBRLI}startDate"), period.find(f"{_XBRLI}endDate")
    instant = period.find(f"{_XBRLI}instant")
    closing = _last_day(last if instant is None else instant)
    if closing is None:
        return None
    return Context(
        scheme=identifier.get("scheme", ""),
        identifier=(identifier.text or "").strip(),
        start=_date(start),
        day=closing,
        members=MappingProxyType(dict(_members(element))),
    )


def _members(context: ET.Element) -> Iterator[tuple[str, str]]:
    for element in context.iter():
        dimension = element.get("dimension")
        if dimension is not None:
            text = "".join(element.itertext()).strip()
            yield dimension.rpartition(":")[2], text.rpartition(":")[2]


def _date(element: ET.Element | None) -> date | None:
    text = "" if element is None else (element.text or "").strip()
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def _last_day(element: ET.Element | None) -> date | None:
    """The day that ends at an instant; midnight is the end of the day before (XBRL 2.1)."""
    found = _date(element)
    at_midnight = element is not None and "T00:00:00" in (element.text or "")
    return found - timedelta(days=1) if found and at_midnight else found


def _currency(unit: ET.Element) -> str | None:
    measures = [(measure.text or "").strip() for measure in unit.iter(f"{_XBRLI}measure")]
    found = CURRENCY.search(measures[0]) if len(measures) == 1 else None
    return found.group(1) if found else None


def _local_name(tag: str) -> str:
    return tag.rpartition("}")[2]
