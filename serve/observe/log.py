"""The log: one JSON object a line on stderr (contract G11).

A request is one line of it, written when its answer has been sent. No line ever holds a key: every
line passes `redact`, and the value of a parameter that the API does not know is not even looked at,
since it may be a key put in the URL by mistake (A5). Addresses are cut to /24 or /48.
"""

import asyncio
import logging
import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from serve.request.params import MODIFICATIONS, SEARCH, Pairs

# The fixed prefix of keys (A11), with whatever follows; and any bearer token.
_SECRET: Final = re.compile(r"(soc_live_|Bearer\s+)[^\s\"'\\&;,]+", re.IGNORECASE)
_LONGEST: Final = 500  # characters of one logged value

_KNOWN: Final = frozenset((*SEARCH, *MODIFICATIONS))

_STDERR: Final = 2
_PAGE: Final = 4_096
_AS_A_LINE: Final = orjson.OPT_APPEND_NEWLINE


def redact(text: str) -> str:
    """`text` with nothing in it that could be a key.

    >>> redact("GET /x?cle=soc_live_abcDEF123")
    'GET /x?cle=soc_live_…'
    """
    return _SECRET.sub(r"\1…", text)


def query_fields(pairs: Pairs) -> dict[str, list[str]]:
    """The parameters of a request as they are logged: unknown ones without their values."""
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        values = fields.setdefault(name[:_LONGEST], [])
        if name in _KNOWN:
            values.append(value[:_LONGEST])
    return fields


def line(level: str, event: str, fields: Mapping[str, Any]) -> bytes:
    """One line of the log, its line end included."""
    document = {"time": datetime.now(UTC), "level": level, "event": event, **fields}
    try:
        text = orjson.dumps(document, option=_AS_A_LINE)
    except TypeError:
        # Undecodable bytes of a request reach here as lone surrogates, which JSON has no room for.
        text = orjson.dumps(_clean(document), option=_AS_A_LINE)
    lower = text.lower()
    # Nearly every line is free of both, and looking for two words is ten times as fast.
    if b"soc_live_" in lower or b"bearer" in lower:
        return redact(text.decode()).encode()
    return text


class LogQueue:
    """Writes lines to stderr, in order: those of one turn of the event loop together.

    A write takes as long as making its line. Whole lines are written, of a page at most: so far no
    other process writes into their middle (POSIX, pipes). A process that is killed loses the lines
    of its last turn; one that ends has had another turn.
    """

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def __call__(self, line: bytes) -> None:
        if not self._lines:
            asyncio.get_running_loop().call_soon(self._write)
        self._lines.append(line)

    def _write(self) -> None:
        page = b""
        for line in self._lines:
            if page and len(page) + len(line) > _PAGE:
                os.write(_STDERR, page)
                page = b""
            page += line
        os.write(_STDERR, page)
        self._lines.clear()


class JsonLines(logging.Formatter):
    """A log record as such a line; `extra={"fields": …}` adds keys of its own."""

    def format(self, record: logging.LogRecord) -> str:
        fields = dict(getattr(record, "fields", {}))
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return line(record.levelname.lower(), record.getMessage(), fields).decode().rstrip("\n")


def set_up() -> None:
    """Send every log line of this process to stderr as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(key): _clean(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_clean(part) for part in value]
    return value
