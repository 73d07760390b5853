"""The examples of the document: recorded answers of a server with the bundled data.

`make golden` records them again (tests/serve/surfaces/docs/test_examples.py) in examples.json, so none is
invented and none goes stale.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from serve.contract.text import Text

FILE: Final = Path(__file__).with_name("examples.json")


@dataclass(frozen=True, slots=True)
class Example:
    """A recorded answer of a route (`Operation.route`); `summary` describes the request."""

    route: str
    status: int
    summary: Text
    value: Any


def read() -> dict[str, Example]:
    """Read the examples, by name."""
    return {
        name: Example(**{**entry, "summary": Text(**entry["summary"])})
        for name, entry in orjson.loads(FILE.read_bytes()).items()
    }


EXAMPLES: Final = read()
