"""Entries of the JSON documents of a generation: each value has the type that its dataclass declares.

A document with the right digest may still be malformed, if its source is. An entry of another type would be refused
by no reader, and fail in every page that shows it.
"""

from collections.abc import Hashable, Mapping
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")

_SHOWN: Final = 60  # characters of a value in a message


def make_entry(kind: type[T], values: Mapping[str, Any]) -> T:
    """The dataclass `kind` of these values; an array stands for a tuple, and no number is below 0.

    Raises:
        TypeError: `values` is no object, a name is missing or unknown, or a value has another type.

    >>> from shards.generations.reference import CellCount
    >>> make_entry(CellCount, {"secteur": "62", "sous_secteur": None, "n": 3}).n
    3
    >>> make_entry(CellCount, {"secteur": "62", "sous_secteur": None, "n": "3"})
    Traceback (most recent call last):
    TypeError: n = '3' of a CellCount is not of the type int
    """
    if not isinstance(values, dict):
        raise TypeError(f"{_shown(values)} is no {kind.__name__}")
    types = _types(cast(Hashable, kind))
    for name, value in values.items():
        if name in types and not _has_type(value, types[name]):
            wanted = getattr(types[name], "__name__", str(types[name]))
            raise TypeError(
                f"{name} = {_shown(value)} of a {kind.__name__} is not of the type {wanted}"
            )
    return kind(
        **{name: tuple(value) if type(value) is list else value for name, value in values.items()}
    )


@cache
def _types(kind: Hashable) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _has_type(value: Any, wanted: Any) -> bool:
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin is Literal:
        return value in arguments if isinstance(value, str) else False
    if origin in (Union, UnionType):
        return any(_has_type(value, one) for one in arguments)
    if origin is tuple:  # of any number of values of one type
        return isinstance(value, list | tuple) and all(
            _has_type(one, arguments[0]) for one in value
        )
    if origin is not None:  # a mapping
        return isinstance(value, dict) and all(
            _has_type(name, arguments[0]) and _has_type(one, arguments[1])
            for name, one in value.items()
        )
    if wanted is int:
        return type(value) is int and value >= 0
    return isinstance(value, wanted)


def _shown(value: Any) -> str:
    return repr(value)[:_SHOWN]
