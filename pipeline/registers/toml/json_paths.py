"""Paths to values in a published record, and the check that a record has no undeclared key.

A path has keys from the outside in, separated by `/`. If the value under a key is a list, its first element counts,
unless the path says otherwise:

    forretningsadresse/poststed            the value, or null
    names[type=1,endDate=]/name            of the first element with type 1 and without endDate
    names[endDate]/name[]                  of every element that has an endDate: a list of text
    previous_names[]/company_name          of every element: a list of text
    aktivitet                              if the value is a list of scalars: one text that joins the scalars
    activities[]/division+class            the values of two keys of one object, joined; null if one is missing
    proceedings/bankruptcy?                the text "true" if the key has a value of any shape, or null

A record has no header, so the keys of each record are compared with the declared paths: a key that
is neither used nor ignored stops the import with a message that contains the path of the key.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, NamedTuple

from pydantic import Field

from pipeline.registers.register import NO_DAY

SEPARATOR: Final = "/"  # between the keys of a path
REST: Final = "*"  # the end of an ignored path: any end of a key
PLUS: Final = "+"  # between several keys of one object, whose values are joined
PRESENCE: Final = "?"  # the end of a path that only says whether there is a value
# Reasons to reject a record.
NO_OBJECT: Final = "valeur qui n'est pas un objet"
NO_TEXT: Final = "objet à la place d'une valeur"
_NO_DAY: Final = re.compile(NO_DAY)  # a test reads such a placeholder date as an empty text

JsonValue = Any
# The keys that an object may have, each with the keys of the object under it; None: that object is not checked.
AllowedKeys = Mapping[str, "AllowedKeys | None"]


class PathError(ValueError):
    """A path is malformed."""


class ShapeError(Exception):
    """A record does not have the declared shape: `value` is there in place of an object, or of a text.

    Attributes:
        reason: the reason to reject the record.
    """

    def __init__(self, value: "JsonValue") -> None:
        super().__init__(repr(value))
        self.value = value
        self.reason = NO_TEXT if isinstance(value, dict) else NO_OBJECT


class Step(NamedTuple):
    """One key of a path.

    Attributes:
        tests: conditions (key, value) on the elements of the list under `key`. The value None matches any value but an
            empty one; an empty text matches a missing value.
        every: whether the path continues in every element of the list, not only in the first.
    """

    key: str
    tests: tuple[tuple[str, str | None], ...]
    every: bool


@dataclass(frozen=True, slots=True)
class RecordPath:
    """A compiled path. `joined` separates the scalars of a list, and the values of several keys.

    >>> RecordPath("names[type=1,endDate=]/name").steps[0]
    Step(key='names', tests=(('type', '1'), ('endDate', '')), every=False)

    Raises:
        PathError: a step without a key, or a bracket that is not closed.
    """

    text: Annotated[str, Field(alias="path")]
    joined: str = ", "
    steps: tuple[Step, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Parse the path."""
        object.__setattr__(self, "steps", _steps(self.text))

    @property
    def is_list(self) -> bool:
        """Whether the path leads to a list of text; otherwise it leads to one text."""
        return any(step.every for step in self.steps)

    def reader(self) -> Callable[[JsonValue], Any]:
        """A function that returns the text, or list of text, that the path leads to in a record.

        The function raises ShapeError if the value is an object, or if another value is in place of an object.
        """
        # A path of keys without tests needs only `_plain_value`, which does less work for each record.
        steps, joined = self.steps, self.joined
        if self.text.endswith(PRESENCE):
            return lambda record: "true" if _value_at_steps(record, steps) else None
        if self.is_list:
            return lambda record: _texts_under(record, steps, joined) or None
        if any(step.tests or PLUS in step.key for step in steps):
            return lambda record: _text(_value_at_steps(record, steps), joined)
        keys = [step.key for step in steps]
        return lambda record: _text(_plain_value(record, keys), joined)


def _steps(text: str) -> tuple[Step, ...]:
    """The steps of a path: its keys, each with the conditions in brackets on the elements of its array.

    Raises:
        PathError: a step without a key, or a bracket that is not closed.
    """
    steps = []
    for step_text in text.removesuffix(PRESENCE).split(SEPARATOR):
        key, bracket, inside = step_text.partition("[")
        if not key or (bracket and not inside.endswith("]")):
            raise PathError(f"{text!r} is not a path: write a/b, a[k=v]/b or a[]/b")
        inside = inside.removesuffix("]")
        # `key=value` tests for that value, `key` alone for any value; empty brackets mean every element.
        tests = [test.partition("=") for test in inside.split(",") if test]
        conditions = tuple((name, value if equals else None) for name, equals, value in tests)
        steps.append(Step(key, conditions, bool(bracket) and not tests))
    return tuple(steps)


def allowed_keys(used: Iterable[RecordPath], ignored: Iterable[str]) -> AllowedKeys:
    """The keys that a record may have, from the used paths and the ignored paths.

    An ignored path also ignores all keys below its end; a trailing `*` matches any end of a key.

    Raises:
        PathError: a path ends at a key at which another path continues, or a key is both ignored and used.
    """
    root: dict[str, Any] = {}
    for path in used:
        node = root
        for step in path.steps[:-1]:
            node = _keys_below(node, step.key, path.text)
            for key, _ in step.tests:
                node.setdefault(key, None)
        for key in path.steps[-1].key.split(PLUS):
            node.setdefault(key, None)
    for text in ignored:
        *outer_keys, last_key = text.split(SEPARATOR)
        node = root
        for key in outer_keys:
            node = _keys_below(node, key, text)
        if last_key in node:
            raise PathError(f"{text!r} is both ignored and used; remove one of them")
        node[last_key] = None
    return root


def _keys_below(node: dict[str, Any], key: str, text: str) -> dict[str, Any]:
    """The allowed keys below `key` of `node`; none yet if `key` is new. `text` is the path, for the message."""
    child = node.setdefault(key, {})
    if child is None:
        raise PathError(
            f"{text!r} continues below a path that ends at {key!r}; leave one of them out"
        )
    assert isinstance(child, dict)
    return child


def unknown_key(record: JsonValue, allowed: AllowedKeys) -> str | None:
    """The path of the first key of `record` that is not in `allowed`; None if there is no such key."""
    if isinstance(record, list):
        return next((path for item in record if (path := unknown_key(item, allowed))), None)
    if not isinstance(record, dict):
        return None
    if not record.keys() <= allowed.keys() and (key := _first_unknown_key(record, allowed)):
        return key
    for key, value in record.items():
        keys_below = allowed.get(key)
        if keys_below is not None and value and (path := unknown_key(value, keys_below)):
            return f"{key}{SEPARATOR}{path}"
    return None


def _first_unknown_key(record: Mapping[str, JsonValue], allowed: AllowedKeys) -> str | None:
    """The first key of an object that is not allowed, not even by a trailing `*`; None if there is no such key."""
    stems = tuple(key[:-1] for key in allowed if key.endswith(REST))
    return next((key for key in record if key not in allowed and not key.startswith(stems)), None)


def _plain_value(value: JsonValue, keys: Iterable[str]) -> JsonValue:
    """The value that `keys` lead to, through the first element of each list; None if a key is missing."""
    for key in keys:
        if isinstance(value, list):
            value = value[0] if value else None
        if not isinstance(value, dict):
            _refuse_value(value)
            return None
        value = value.get(key)
    return value


def _value_at_steps(value: JsonValue, steps: Iterable[Step]) -> JsonValue:
    """The value that `steps` lead to, through the first matching element of each list; None if a key is missing."""
    for step in steps:
        if isinstance(value, list):
            value = value[0] if value else None
        if not isinstance(value, dict):
            _refuse_value(value)
            return None
        value = _select(value, step)
    return value


def _refuse_value(value: JsonValue) -> None:
    """Raise ShapeError for a value in place of an object, unless the value is empty."""
    if value not in (None, "", []):
        raise ShapeError(value)


def _select(record: Mapping[str, JsonValue], step: Step) -> JsonValue:
    """The value that one step leads to in an object.

    Several keys give the list of their values, or None if one is missing. Tests give the list of matching elements.

    Raises:
        ShapeError: an element to test is not an object.
    """
    if PLUS in step.key:
        values = [record.get(key) for key in step.key.split(PLUS)]
        return None if None in values else values
    value = record.get(step.key)
    if not step.tests or value is None:
        return value
    items = value if isinstance(value, list) else [value]
    return [item for item in items if all(_matches(item, *test) for test in step.tests)]


def _matches(item: JsonValue, key: str, expected: str | None) -> bool:
    """Whether an element of a list passes a test: any value if `expected` is None, else the text `expected`.

    Raises:
        ShapeError: the element is not an object.
    """
    if not isinstance(item, dict):
        raise ShapeError(item)
    value = item.get(key)
    text = "" if value is None or _NO_DAY.match(str(value)) else str(value)
    return bool(text) if expected is None else text == expected


def _texts_under(value: JsonValue, steps: tuple[Step, ...], joined: str) -> list[str]:
    """The texts of every element that the steps lead to, in the order of the record."""
    if not steps:
        text = _text(value, joined)
        return [text] if text is not None else []
    if isinstance(value, list):
        return [text for item in value for text in _texts_under(item, steps, joined)]
    if not isinstance(value, dict):
        _refuse_value(value)
        return []
    step, *steps_below = steps
    return _texts_under(_select(value, step), tuple(steps_below), joined)


def _text(value: JsonValue, joined: str) -> str | None:
    """The text of a scalar, or of a list of scalars separated by `joined`; None for an empty value.

    Raises:
        ShapeError: the value is an object with keys.
    """
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
            raise ShapeError(value)
        return None
    return str(value)
