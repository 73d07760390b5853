"""The identity of a store of several hosts, as a host remembers it in its STATE.

A server that lost its rows looks like a new one: every key would be unknown, and every counter at 0.
So the rows have a random identity, which only `python -m quota account create` gives to an empty
server, and a host uses the one that it knows until it is started with `--new-store`.
"""

import logging
import os
import secrets
from pathlib import Path
from typing import Final

FILE: Final = "quota.identity"

_log: Final = logging.getLogger("quota.redis")


def recall(state: Path) -> bytes | None:
    """The identity of the store that this host has used, None if it has used none."""
    try:
        return (state / FILE).read_bytes().strip() or None
    except FileNotFoundError:
        return None


def remember(state: Path, identity: bytes) -> None:
    """Store the identity; where the disk is full, this process alone knows it."""
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
            "%s is not written, so the next start takes any store: %s; make room, or give the folder to this user",
            state / FILE,
            error,
        )


def forget(state: Path) -> None:
    """Let the next start use another store."""
    (state / FILE).unlink(missing_ok=True)
