"""The log: one JSON object per line on stderr (contract G11).

Each request has one line, written after its response was sent. No line ever contains a key: every
line passes `redact`, and the values of unknown parameters are left out, since one may be a key put
into the URL by mistake (A5, `query_fields`). Addresses are cut to /24 or /48 (serve/request/client_address.py).
"""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from serve.contract.secret_mask import redact
from serve.observe.log_writer import LogWriter

_AS_A_LINE: Final = orjson.OPT_APPEND_NEWLINE


def line(level: str, event: str, fields: Mapping[str, Any]) -> bytes:
    """A line of the log, with its line end."""
    document = {"time": datetime.now(UTC), "level": level, "event": event, **fields}
    try:
        text = orjson.dumps(document, option=_AS_A_LINE)
    except TypeError:
        # Undecodable bytes of a request arrive here as lone surrogates, which JSON cannot contain.
        text = orjson.dumps(_clean(document), option=_AS_A_LINE)
    lower = text.lower()
    # Most lines contain none, and a few substring searches are ten times as fast as the pattern.
    if b"%" in lower or b"soc_" in lower or b"bearer" in lower:
        return redact(text.decode()).encode()
    return text


def _notice(lines: int) -> bytes:
    return line("warning", "log lines were lost", {"lines": lines})


# The one writer of a process.
stderr: Final = LogWriter(2, _notice)


class JsonLines(logging.Formatter):
    """Formats a log record as a line of JSON; `extra={"fields": …}` adds keys."""

    def format(self, record: logging.LogRecord) -> str:
        fields = dict(getattr(record, "fields", {}))
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return line(record.levelname.lower(), record.getMessage(), fields).decode().rstrip("\n")


def set_up() -> None:
    """Send every log line of this process to stderr as JSON."""
    handler = logging.StreamHandler(stderr)
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
