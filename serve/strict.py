"""JSON of callers, read strictly: what two readers would understand differently is refused."""

import json
from collections.abc import Callable
from typing import Any

import orjson


def loads(raw: bytes, members: Callable[[list[tuple[str, Any]]], Any], **numbers: Any) -> Any:
    """The value of `raw`; `members` makes an object of its names and values, in order.

    The strict reader refuses NaN, lone surrogates, text after the end; only the other one shows
    names that are there twice, and (by `numbers`) numbers as they were written.

    Raises:
        ValueError: it is not JSON in UTF-8, or nested too deeply.
    """
    try:
        orjson.loads(raw)
        return json.loads(raw, object_pairs_hook=members, **numbers)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object whose names are all different.

    Raises:
        ValueError: a name is there twice, and readers differ on which of the two counts.
    """
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("a name is there twice in one object")
    return found
