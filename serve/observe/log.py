"""The log: one JSON object per line on stderr (contract G11).

Each request has one line, written after its response was sent. No line ever contains a key: every
line passes `redact`, and the values of unknown parameters are left out, since one may be a key put
into the URL by mistake (A5). Addresses are cut to /24 or /48 (serve/request/client_address.py).
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

# A key, which has a fixed prefix (A11), and any bearer token.
_SECRET: Final = re.compile(r"(soc_live_|soc_rec_|Bearer\s+)[^\s\"'\\&;,]+", re.IGNORECASE)
_LONGEST: Final = 500  # characters of one logged value

_KNOWN: Final = frozenset((*SEARCH, *MODIFICATIONS))

_STDERR: Final = 2
_PAGE: Final = 4_096
_AS_A_LINE: Final = orjson.OPT_APPEND_NEWLINE


def redact(text: str) -> str:
    """`text` without anything that could be a key.

    >>> redact("GET /x?cle=soc_live_abcDEF123")
    'GET /x?cle=soc_live_…'
    """
    return _SECRET.sub(r"\1…", text)


def query_fields(pairs: Pairs) -> dict[str, list[str]]:
    """The parameters of a request for its log line: unknown ones without their values."""
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        values = fields.setdefault(name[:_LONGEST], [])
        if name in _KNOWN:
            values.append(value[:_LONGEST])
    return fields


def line(level: str, event: str, fields: Mapping[str, Any]) -> bytes:
    """A line of the log, with its line end."""
    document = {"time": datetime.now(UTC), "level": level, "event": event, **fields}
    try:
        text = orjson.dumps(document, option=_AS_A_LINE)
    except TypeError:
        # Undecodable bytes of a request arrive here as lone surrogates, which JSON cannot contain.
        text = orjson.dumps(_clean(document), option=_AS_A_LINE)
    lower = text.lower()
    # Most lines contain neither, and two substring searches are ten times as fast as the pattern.
    if b"soc_live_" in lower or b"soc_rec_" in lower or b"bearer" in lower:
        return redact(text.decode()).encode()
    return text


class LogQueue:
    """A writer of lines to stderr, in order; the lines of one turn of the event loop share a write.

    A write takes as long as formatting its line. A write holds whole lines, up to one page together:
    up to that size other processes cannot write into their middle (POSIX, pipes). A killed process
    loses the lines of its last turn of the loop; a stopped one loses none.
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
    """Formats a log record as a line of JSON; `extra={"fields": …}` adds keys."""

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
