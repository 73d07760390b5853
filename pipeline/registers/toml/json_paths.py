"""Paths into a published record, and the check that no key of it is unknown.

A path names keys from the outside in, parted by `/`. Where a key holds a list, the first element
counts, unless the path says otherwise:

    forretningsadresse/poststed            the value, or null
    names[type=1,endDate=]/name            of the first element with type 1 and without endDate
    names[endDate]/name[]                  of every element that has an endDate: a list of text
    previous_names[]/company_name          of every element
    aktivitet                              a list of scalars is joined to one text
    activities[]/division+class            several keys of one object, joined; null without one of them

A record has no header, so its keys are held to the declared paths one record at a time: a key that
is neither used nor ignored stops the import with its path.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, NamedTuple

from pydantic import Field

from pipeline.registers.register import NO_DAY

SEPARATOR: Final = "/"
REST: Final = "*"
PLUS: Final = "+"
_NO_DAY: Final = re.compile(NO_DAY)  # an end on such a day is no end

Value = Any
Tree = Mapping[str, "Tree | None"]  # None: the value under the key is not looked into


class PathError(ValueError):
    """A path cannot be read, or a record does not have the declared shape."""


class Step(NamedTuple):
    """A key of a path; `tests` select elements of a list; `every` takes all of them."""

    key: str
    tests: tuple[tuple[str, str | None], ...]  # null: the key has some value
    every: bool


@dataclass(frozen=True, slots=True)
class Path:
    """A compiled path. `joined` stands between the scalars of a list, and between several keys.

    >>> Path("names[type=1,endDate=]/name").steps[0]
    Step(key='names', tests=(('type', '1'), ('endDate', '')), every=False)

    Raises:
        PathError: a step without a key, or a bracket that is not closed.
    """

    text: Annotated[str, Field(alias="path")]
    joined: str = ", "
    steps: tuple[Step, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _steps(self.text))

    @property
    def is_list(self) -> bool:
        """Whether the path gives a list of text; a path gives one text otherwise."""
        return any(step.every for step in self.steps)

    def reader(self) -> Callable[[Value], Any]:
        """A function from a record to the text, or list of text, that the path leads to.

        The function raises PathError where the value is an object.
        """
        steps, joined = self.steps, self.joined
        if self.is_list:
            return lambda record: _texts_under(record, steps, joined) or None
        if any(step.tests or PLUS in step.key for step in steps):
            return lambda record: _text(_walk(record, steps), joined)
        keys = [step.key for step in steps]
        return lambda record: _text(_plain_value(record, keys), joined)


def _steps(text: str) -> tuple[Step, ...]:
    steps = []
    for part in text.split(SEPARATOR):
        key, bracket, inside = part.partition("[")
        if not key or (bracket and not inside.endswith("]")):
            raise PathError(f"{text!r} is no path: write a/b, a[k=v]/b or a[]/b")
        inside = inside.removesuffix("]")
        tests = [test.partition("=") for test in inside.split(",") if test]
        wanted = tuple((k, value if equals else None) for k, equals, value in tests)
        steps.append(Step(key, wanted, bool(bracket) and not tests))
    return tuple(steps)


def tree(used: Iterable[Path], ignored: Iterable[str]) -> Tree:
    """The keys that a record may have, from the paths used and the paths ignored.

    An ignored path covers everything below it; a trailing `*` stands for the rest of a key.

    Raises:
        PathError: one path ends where another one goes on.
    """
    root: dict[str, Any] = {}
    for path in used:
        node = root
        for step in path.steps[:-1]:
            node = _child(node, step.key, path.text)
            for key, _ in step.tests:
                node.setdefault(key, None)
        for key in path.steps[-1].key.split(PLUS):
            node.setdefault(key, None)
    for text in ignored:
        *outer, last = text.split(SEPARATOR)
        node = root
        for key in outer:
            node = _child(node, key, text)
        if last in node:
            raise PathError(f"{text!r} is ignored and used; say one of them")
        node[last] = None
    return root


def _child(node: dict[str, Any], key: str, text: str) -> dict[str, Any]:
    child = node.setdefault(key, {})
    if child is None:
        raise PathError(
            f"{text!r} goes on below a path that ends at {key!r}; leave one of them out"
        )
    assert isinstance(child, dict)
    return child


def unknown_key(record: Value, known: Tree) -> str | None:
    """The path of the first key of `record` that is not in `known`; null if there is none."""
    if isinstance(record, list):
        return next((found for item in record if (found := unknown_key(item, known))), None)
    if not isinstance(record, dict):
        return None
    if not record.keys() <= known.keys() and (key := _first_unknown(record, known)):
        return key
    for key, value in record.items():
        below = known.get(key)
        if below is not None and value and (found := unknown_key(value, below)):
            return f"{key}{SEPARATOR}{found}"
    return None


def _first_unknown(record: Mapping[str, Value], known: Tree) -> str | None:
    stems = tuple(key[:-1] for key in known if key.endswith(REST))
    return next((key for key in record if key not in known and not key.startswith(stems)), None)


def _plain_value(value: Value, keys: Iterable[str]) -> Value:
    for key in keys:
        if isinstance(value, list):
            value = value[0] if value else None
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def _walk(value: Value, steps: Iterable[Step]) -> Value:
    for step in steps:
        if isinstance(value, list):
            value = value[0] if value else None
        if not isinstance(value, dict):
            return None
        value = _select(value, step)
    return value


def _select(record: Mapping[str, Value], step: Step) -> Value:
    """The value of a step in an object: that of its key, or those of several, which are joined."""
    if PLUS in step.key:
        several = [record.get(key) for key in step.key.split(PLUS)]
        return None if None in several else several
    value = record.get(step.key)
    if not step.tests or value is None:
        return value
    items = value if isinstance(value, list) else [value]
    return [item for item in items if all(_matches(item, *test) for test in step.tests)]


def _matches(item: Value, key: str, wanted: str | None) -> bool:
    found = item.get(key)
    text = "" if found is None or _NO_DAY.match(str(found)) else str(found)
    return bool(text) if wanted is None else text == wanted


def _texts_under(value: Value, steps: tuple[Step, ...], joined: str) -> list[str]:
    """The texts under every element that the steps lead to, in their order."""
    if not steps:
        text = _text(value, joined)
        return [text] if text is not None else []
    if isinstance(value, list):
        return [text for item in value for text in _texts_under(item, steps, joined)]
    if not isinstance(value, dict):
        return []
    step, *rest = steps
    return _texts_under(_select(value, step), tuple(rest), joined)


def _text(value: Value, joined: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return joined.join(t for item in value if (t := _text(item, joined)) is not None) or None
    if isinstance(value, dict):
        if value:
            raise PathError(f"an object with {', '.join(value)} stands where a value was expected")
        return None
    return str(value)
