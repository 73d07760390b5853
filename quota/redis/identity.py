"""The identity of a store of several hosts, as a host stores it in its STATE.

A server that lost its rows looks like a new server: every key would be unknown, and every counter at 0.
So the rows have a random identity. Only `python -m quota account create` gives an identity to an empty
server. A host accepts only the identity in its STATE, until the host is started with `--new-store`.
"""

import logging
import os
import secrets
from pathlib import Path
from typing import Final

FILE: Final = "quota.identity"  # in STATE

_log: Final = logging.getLogger("quota.redis")


def recall(state: Path) -> bytes | None:
    """The identity of the store that this host has used; None if it has not used one yet."""
    try:
        return (state / FILE).read_bytes().strip() or None
    except FileNotFoundError:
        return None


def remember(state: Path, identity: bytes) -> None:
    """Store the identity in STATE. If that fails, only this process knows the identity."""
    if recall(state) == identity:
        return
    partial = state / f"{FILE}.{secrets.token_hex(8)}.partial"
    try:
        with partial.open("wb") as file:
            file.write(identity + b"\n")
            file.flush()
            os.fsync(file.fileno())
        partial.rename(state / FILE)
    except OSError as error:
        partial.unlink(missing_ok=True)
        _log.warning(
            "%s is not written, so the next start accepts any store: %s; make room, or give the folder to this user",
            state / FILE,
            error,
        )


def forget(state: Path) -> None:
    """Delete the identity in STATE, so that the next start accepts a store with any identity."""
    (state / FILE).unlink(missing_ok=True)
