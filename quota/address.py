"""Where quotas are kept, as a setting names it: beside STATE, or on a server of several hosts."""

from typing import Final
from urllib.parse import urlsplit

LMDB: Final = "lmdb"
_SCHEMES: Final = ("redis", "rediss")


def checked(setting: str) -> str:
    """`setting`, if it names a store.

    Raises:
        ValueError: it does not.

    >>> checked("lmdb"), checked("rediss://quota:secret@10.0.0.7:6380/0")
    ('lmdb', 'rediss://quota:secret@10.0.0.7:6380/0')
    """
    if setting != LMDB:
        parts = urlsplit(setting)
        if parts.scheme not in _SCHEMES or not parts.hostname:
            raise ValueError("it must be lmdb, redis://HOST:PORT/DB, or rediss://… with TLS")
        if not (parts.path[1:] or "0").isdigit():
            raise ValueError(f"the number of a database follows the address, not {parts.path!r}")
    return setting


def masked(setting: str) -> str:
    """`setting` without the password that may be in it.

    >>> masked("redis://quota:secret@10.0.0.7/0"), masked("lmdb")
    ('redis://…@10.0.0.7/0', 'lmdb')
    """
    scheme, colon, rest = setting.partition("://")
    where = rest.rpartition("@")
    return f"{scheme}{colon}…@{where[2]}" if where[1] else setting
