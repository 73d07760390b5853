"""A generation as the server holds it: open shards, and the words that callers may use for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from serve import names
from serve.names import Names
from shards import generations
from shards.generations import Generation
from shards.reader import Shard
from shards.reference import Reference


@dataclass(frozen=True, slots=True)
class Edition:
    """Everything that changes when a new generation is published; never mixed with another."""

    generation: Generation
    names: Names

    @property
    def id(self) -> str:
        return self.generation.id

    @property
    def reference(self) -> Reference:
        return self.generation.reference

    @property
    def shards(self) -> Mapping[str, Shard]:
        return self.generation.shards

    def close(self) -> None:
        self.generation.close()


def load(data: Path, generation: str) -> Edition:
    """Open a generation of `data`.

    Raises:
        ShardError: it is absent, not whole, or of another format.
    """
    opened = generations.load(data, generation)
    return Edition(opened, names.read(opened.reference))
