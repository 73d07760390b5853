"""A TOML file as a value of a dataclass, whose annotations are the language of the file.

pydantic holds the file to the annotations. The message of its first error names the file, the place, the value and the
remedy. The dataclass of the whole file is decorated with `closed`: a key that has no field is an error.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    TypeAdapter,
    ValidationError,
    with_config,
)

T = TypeVar("T")

closed: Final = with_config(ConfigDict(extra="forbid"))  # the dataclasses of its fields, too

Text = Annotated[str, Field(min_length=1)]
Truth = StrictBool
Positive = Annotated[StrictInt, Field(ge=1)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
NotNegative = Annotated[StrictInt, Field(ge=0)]
# A single text stands for a list of one.
Names = Annotated[tuple[str, ...], BeforeValidator(lambda v: [v] if isinstance(v, str) else v)]

_UNKNOWN: Final = "unexpected_keyword_argument"
# The value to give, by the type of pydantic's error, where its own words are those of Python.
_WANTED: Final[Mapping[str, str]] = {
    "bool_type": "true or false",
    "dataclass_type": "a table",
    "dict_type": "a table",
    "float_type": "a number",
    "greater_than": "a number over {gt:g}",
    "greater_than_equal": "a number of {ge:g} or more",
    "int_type": "a whole number",
    "is_instance_of": "a path",
    "less_than_equal": "a number of {le:g} or less",
    "string_too_short": "a text that is not empty",
    "string_type": "a text",
    "too_short": "a list that is not empty",
    "tuple_type": "a list",
}


def short_for(key: str) -> BeforeValidator:
    """The validator of a table in whose place the value of `key` alone may be written."""
    return BeforeValidator(lambda value: value if isinstance(value, dict) else {key: value})


def convert(
    document: Mapping[str, Any],
    kind: TypeAdapter[T],
    path: Path,
    failure: Callable[[str], Exception],
    language: str,
) -> T:
    """The `document` of the file `path` as a value of `kind`.

    The context of validators is the folder of the file, where relative paths start.

    Args:
        failure: makes the error of the caller's program from a message.
        language: where the keys are documented.

    Raises:
        Exception: that of `failure`: a key is unknown or missing, or a value is refused.
    """
    try:
        return kind.validate_python(document, context=path.resolve().parent)
    except ValidationError as error:
        # A misspelt key is missing, too: the unknown key says more.
        first = min(error.errors(), key=lambda each: each["type"] != _UNKNOWN)
        place = ".".join(str(key) for key in first["loc"] if key != "[key]")
        raise failure(f"{path} [{place}]: {_reason(dict(first), language)}") from error


def _reason(error: Mapping[str, Any], language: str) -> str:
    if error["type"] == _UNKNOWN:
        return f"no such key; take one that {language} has, or remove it"
    if error["type"] == "missing":
        return f"is missing; add it as {language} says"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    wanted = _WANTED.get(error["type"], error["msg"].removeprefix("Input should be "))
    return f"{error['input']!r} is refused; give {wanted.format(**error.get('ctx', {}))}"
