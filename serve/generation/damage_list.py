"""The files of DATA that were found damaged: STATE/damaged.json, shared by the workers of a server.

One worker compares the files with their digests while it reads them ahead (serve/process/read_ahead.py);
the others learn from this file what it found, and so does the next start. A file is known by its inode,
size and time of change: a repaired file is another one, and so not damaged.
"""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import orjson

from shards.generations import atomic_files
from shards.generations.generation_files import shard_name
from shards.generations.manifest import Manifest

FILE: Final = "damaged.json"

_log: Final = logging.getLogger("serve.generation.damage_list")

_Identity = tuple[int, int, int, int]


class DamageList:
    """The damaged files that a STATE folder lists; without a folder, those that this process found."""

    def __init__(self, state: Path | None) -> None:
        self._file = state / FILE if state else None
        self._seen: _Identity | None = None
        self._known: set[_Identity] = set()

    def add(self, path: Path) -> None:
        """List the file at `path`; any thread may call this."""
        self._known.add(_identity(path))
        self._save()

    def clear(self) -> None:
        """Forget everything: the files were read again and are whole."""
        if self._known:
            self._known = set()
            self._save()

    def countries(self, folder: Path, manifest: Manifest, among: Iterable[str]) -> frozenset[str]:
        """The countries of these whose shards are listed, are missing or have another size."""
        self._load()
        damaged_countries = set()
        for iso2 in among:
            name = shard_name(iso2)
            try:
                identity = _identity(folder / name)
            except OSError:
                damaged_countries.add(iso2)
                continue
            if identity in self._known or identity[2] != manifest.files[name].size:
                damaged_countries.add(iso2)
        return frozenset(damaged_countries)

    def _load(self) -> None:
        if self._file is None:
            return
        try:
            seen = _identity(self._file)
            if seen != self._seen:
                self._known = set(map(tuple, orjson.loads(self._file.read_bytes())))
                self._seen = seen
        except FileNotFoundError:
            pass
        except (OSError, TypeError, ValueError) as error:
            self._seen = None
            _log.error("%s cannot be read, remove it: %s", self._file, error)

    def _save(self) -> None:
        if self._file is None:
            return
        try:
            atomic_files.write(self._file, orjson.dumps(sorted(self._known)))
        except OSError as error:  # a full disk: this process knows it all the same
            _log.error(
                "other workers do not learn what is damaged: %s; give STATE space and write access",
                error,
            )


def _identity(path: Path) -> _Identity:
    stat = path.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
