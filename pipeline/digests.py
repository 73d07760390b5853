"""Records that are kept between two runs, with a digest of their own: they are checked before they are believed.

A flipped bit in a record is mostly still JSON, such as another count or another date. The digest is a key of the
record, over all others.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson
from blake3 import blake3

_DIGEST: Final = "empreinte"
LIST: Final = "digests.json"  # the digests of the files of a folder


def dump_record(record: Mapping[str, Any], option: int = 0) -> bytes:
    """The record as JSON, with its digest.

    >>> load(dump({"gardes": 3}))
    {'gardes': 3}
    """
    return orjson.dumps({**record, _DIGEST: _record_digest(record)}, option=option)


def load_record(content: bytes) -> dict[str, Any]:
    """The record of `dump`.

    Raises:
        ValueError: no JSON, no digest, or that of another record.

    >>> load(dump({"gardes": 3}).replace(b"3", b"2", 1))
    Traceback (most recent call last):
        ...
    ValueError: the record is not the one that was written
    """
    record = orjson.loads(content)
    if not isinstance(record, dict) or record.pop(_DIGEST, None) != _record_digest(record):
        raise ValueError("the record is not the one that was written")
    return record


def seal_folder(folder: Path) -> None:
    """Write the digests of all files below `folder` into it."""
    (folder / LIST).write_bytes(dump_record(_file_digests(folder)))


def is_whole(folder: Path) -> bool:
    """Whether `folder` has the files that it had when it was sealed, and no other; reads all of them."""
    try:
        return load_record((folder / LIST).read_bytes()) == _file_digests(folder)
    except (OSError, ValueError):
        return False


def _record_digest(record: Mapping[str, Any]) -> str:
    return blake3(orjson.dumps(record)).hexdigest()


def _file_digests(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): blake3(max_threads=blake3.AUTO).update_mmap(path).hexdigest()
        for path in paths
        if path != folder / LIST
    }
