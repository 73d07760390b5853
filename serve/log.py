"""The log: one JSON object a line on stderr (contract G11).

A request is one line of it, written when its answer has been sent. No line ever holds a key: every
line passes `redact`, and the value of a parameter that the API does not know is not even looked at,
since it may be a key put in the URL by mistake (A5). Addresses are cut to /24 or /48.
"""

import ipaddress
import logging
import re
import sys
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import orjson

from serve.params import SEARCH, Pairs

# The fixed prefix of keys (A11), with whatever follows; and any bearer token.
_SECRET: Final = re.compile(r"(soc_live_|Bearer\s+)[^\s\"'\\&;,]+", re.IGNORECASE)
_LONGEST: Final = 500  # characters of one logged value


def redact(text: str) -> str:
    """`text` with nothing in it that could be a key.

    >>> redact("GET /x?cle=soc_live_abcDEF123")
    'GET /x?cle=soc_live_…'
    """
    # Nearly every line is free of both, and looking for two words is ten times as fast.
    lower = text.lower()
    if "soc_live_" in lower or "bearer" in lower:
        return _SECRET.sub(r"\1…", text)
    return text


def query_fields(pairs: Pairs) -> dict[str, list[str]]:
    """The parameters of a request as they are logged: unknown ones without their values."""
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        values = fields.setdefault(name[:_LONGEST], [])
        if name in SEARCH:
            values.append(value[:_LONGEST])
    return fields


@lru_cache(maxsize=4_096)
def truncated(address: str | None) -> str | None:
    """The network of a caller's address: /24 in IPv4, /48 in IPv6.

    >>> truncated("192.0.2.77"), truncated("2001:db8:1:2::3")
    ('192.0.2.0/24', '2001:db8:1::/48')
    """
    try:
        ip = ipaddress.ip_address(address or "")
    except ValueError:
        return None
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is None:
            return str(ipaddress.ip_network((ip, 48), strict=False))
        ip = ip.ipv4_mapped
    return str(ipaddress.ip_network((ip, 24), strict=False))


class JsonLines(logging.Formatter):
    """A log record as one line of JSON; `extra={"fields": …}` adds keys of its own."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        # Undecodable bytes of a request reach here as lone surrogates, which JSON has no room for.
        text = orjson.dumps(_clean(line)).decode()
        return redact(text)


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
