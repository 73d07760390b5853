"""A TOML file as a value of a dataclass; the annotations of the dataclass define the keys and values of the file.

pydantic checks the file against the annotations. The message of the first error names the file, the place, the value
and the remedy. The dataclass of the whole file is decorated with `refuse_unknown_keys`: a key without a field is an
error.
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

# Decorates a dataclass: unknown keys are errors, also in the dataclasses of its fields.
refuse_unknown_keys: Final = with_config(ConfigDict(extra="forbid"))

# Types of fields. Values are not converted: a number in quotes is an error.
Text = Annotated[str, Field(min_length=1)]
Truth = StrictBool
Positive = Annotated[StrictInt, Field(ge=1)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
NotNegative = Annotated[StrictInt, Field(ge=0)]
# A single text stands for a list of one text.
Names = Annotated[tuple[str, ...], BeforeValidator(lambda v: [v] if isinstance(v, str) else v)]

_UNKNOWN_KEY: Final = "unexpected_keyword_argument"  # pydantic's error type for an unknown key
# Pydantic's error type -> the expected value, where pydantic's own words would be about Python.
_EXPECTED: Final[Mapping[str, str]] = {
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
    """A validator for a table that can also be written as only the value of its key `key`."""
    return BeforeValidator(lambda value: value if isinstance(value, dict) else {key: value})


def convert(
    document: Mapping[str, Any],
    kind: TypeAdapter[T],
    path: Path,
    failure: Callable[[str], Exception],
    language: str,
) -> T:
    """Convert the `document` of the file `path` to a value of `kind`.

    The context of validators is the folder of the file; relative paths start there.

    Args:
        failure: the class of the error to raise, called with the message.
        language: the name of the document that describes the keys, for messages.

    Raises:
        Exception: the error of `failure`: a key is unknown or missing, or a value is refused.
    """
    try:
        return kind.validate_python(document, context=path.resolve().parent)
    except ValidationError as error:
        # A misspelt key also causes a missing key; the unknown key is more useful.
        shown_error = min(error.errors(), key=lambda fault: fault["type"] != _UNKNOWN_KEY)
        # For an error of the key itself, pydantic adds "[key]" to the path.
        key_path = ".".join(str(key) for key in shown_error["loc"] if key != "[key]")
        raise failure(f"{path} [{key_path}]: {_reason(dict(shown_error), language)}") from error


def _reason(error: Mapping[str, Any], language: str) -> str:
    """An error of pydantic in words, with the remedy."""
    if error["type"] == _UNKNOWN_KEY:
        return f"unknown key; use a key of {language}, or remove it"
    if error["type"] == "missing":
        return f"missing; add it as {language} describes"
    if error["type"] == "value_error":  # a validator of this project has raised ValueError
        return str(error["ctx"]["error"])
    expected = _EXPECTED.get(error["type"], error["msg"].removeprefix("Input should be "))
    return f"{error['input']!r} is refused; give {expected.format(**error.get('ctx', {}))}"
