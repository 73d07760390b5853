"""The readers of settings: the value of a flag, a variable or a TOML file becomes that of a setting.

Each raises ValueError with what to give; `seeds.settings.read_settings` names the value.
"""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Final

from quota import open_store
from seeds.settings import whole_number

Network = IPv4Network | IPv6Network

_ORIGIN: Final = re.compile(r"https?://[a-z0-9.:\[\]-]+")


def text(value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("give a text that is not empty")
    return value


def path(value: object) -> Path:
    """A path, which need not exist."""
    return value if isinstance(value, Path) else Path(text(value))


positive_number: Final = whole_number(1)  # every limit is a number (§1)
port: Final = whole_number(0, 65_535)  # of TCP


def truth(value: object) -> bool:
    """True or false."""
    if isinstance(value, bool):
        return value
    if value not in ("true", "false"):
        raise ValueError("give true or false")
    return value == "true"


def quota(value: object) -> str:
    """The address of a store of counters."""
    return open_store.check_address(text(value))


def base_url(value: object) -> str:
    """The beginning of links, without a slash at its end."""
    text = value if isinstance(value, str) else ""
    if value != "" and not text.startswith(("http://", "https://")):
        raise ValueError("give an address that begins with http:// or https://")
    return text.rstrip("/")


def networks(value: object) -> tuple[Network, ...]:
    """Networks or addresses: a list in the file, elsewhere one text with commas."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        raise ValueError('give a list of networks, such as ["10.0.0.0/8", "::1"]')
    return tuple(_network(str(part).strip()) for part in parts if str(part).strip())


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        try:
            meant = ip_network(text, strict=False)
        except ValueError:
            raise ValueError(f"{text!r} is no network; write one like 10.0.0.0/8 or ::1") from None
        alone = text.partition("/")[0]
        raise ValueError(
            f"{text} is a host in a network; write {meant} for all of it, or {alone} for the host"
        ) from error


def origins(value: object) -> tuple[str, ...]:
    """Origins as browsers send them, or `*`: a list in the file, elsewhere one text with commas."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        raise ValueError('give a list of origins, such as ["https://app.example"]')
    origins = tuple(str(part).strip() for part in parts if str(part).strip())
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise ValueError(f"{origin!r} is no origin; write one like https://app.example")
    return origins
