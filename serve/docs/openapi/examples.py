"""The examples of the document: answers that the bundled data gave, letter by letter.

`make golden` asks for them again (tests/serve/docs/openapi/test_examples.py) and writes them beside this
file, so none is invented and none goes stale.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

FILE: Final = Path(__file__).with_name("examples.json")


@dataclass(frozen=True, slots=True)
class Example:
    """An answer of a route (a name of serve/api/routes.py), and what was asked."""

    route: str
    status: int
    summary: str
    value: Any


def read() -> dict[str, Example]:
    """The examples by name."""
    return {name: Example(**entry) for name, entry in orjson.loads(FILE.read_bytes()).items()}


EXAMPLES: Final = read()
