"""A generation as the server holds it: open shards, and the words that callers may use for them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from serve import names, params
from serve.names import Names
from serve.params import Pairs, Search
from shards import generations
from shards.generations import Generation
from shards.reader import Shard
from shards.reference import Reference

# Searches that are remembered, if their values are short: a few megabytes at most.
_REMEMBERED: Final = 1_024
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Edition:
    """Everything that changes when a new generation is published; never mixed with another."""

    generation: Generation
    names: Names
    _read: Callable[[tuple[tuple[str, str], ...]], Search]

    @property
    def id(self) -> str:
        return self.generation.id

    @property
    def reference(self) -> Reference:
        return self.generation.reference

    @property
    def shards(self) -> Mapping[str, Shard]:
        return self.generation.shards

    def search(self, pairs: Pairs) -> Search:
        """`params.search`, remembered: most of a 304 would be reading the same parameters again.

        Raises:
            ApiError: 400.
        """
        if len(pairs) > len(params.SEARCH) or any(len(value) > _LONGEST for _, value in pairs):
            return params.search(pairs, self.names)
        return self._read(tuple(pairs))

    def close(self) -> None:
        self.generation.close()


def load(data: Path, generation: str) -> Edition:
    """Open a generation of `data`.

    Raises:
        ShardError: it is absent, not whole, or of another format.
    """
    opened = generations.load(data, generation)
    known = names.read(opened.reference)
    read = lru_cache(_REMEMBERED)(lambda pairs: params.search(pairs, known))
    return Edition(opened, known, read)
