"""The kinds of mirror sources, chosen by the form of their address."""

from collections.abc import Mapping
from pathlib import Path

from shards.mirror.bucket import Bucket
from shards.mirror.errors import SyncError
from shards.mirror.folder import Folder
from shards.mirror.source import MirrorSource
from shards.mirror.web import Web


def find(text: str, environment: Mapping[str, str]) -> MirrorSource:
    """The source at the address `text`: a URL of a web server or a bucket, otherwise a folder.

    Raises:
        SyncError: the address is of no known kind, or invalid.
    """
    scheme, found, _ = text.partition("://")
    if not found:
        return Folder(Path(text))
    if scheme in ("http", "https"):
        return Web(text, environment)
    if scheme == "s3":
        return Bucket(text, environment)
    raise SyncError(f"{text!r} is no source; give a folder, http://…, https://… or s3://…")
