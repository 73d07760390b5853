"""The interface of a peer, and its lookup by name."""

from importlib import import_module
from pathlib import Path
from typing import Final, Protocol

from tests.bench.peers.companies import Companies
from tests.bench.questions.question import Answer, Question

# The modules of this folder that define a peer (an engine that ours is compared with).
NAMES: Final = ("duckdb", "sqlite", "tantivy")

# Peers that search with as many threads as there are cores.
PARALLEL: Final = frozenset({"duckdb"})


class TooSlow(Exception):  # noqa: N818 -- an outcome, not a fault
    """The search was interrupted at the time limit."""


class NotExpressible(Exception):  # noqa: N818 -- an outcome, not a fault
    """The peer cannot express the search exactly."""


class Peer(Protocol):
    """An engine that ours is compared with, with its files open for reading."""

    def search(self, question: Question) -> Answer:
        """Answer a question.

        Raises:
            TooSlow: `interrupt` was called.
            NotExpressible: the engine has no equivalent search.
        """

    def interrupt(self) -> None:
        """End the running search, from another thread; some engines ignore it."""

    def close(self) -> None: ...


class Engine(Protocol):
    """The functions that a module of an engine defines."""

    def version(self) -> str: ...

    def load(self, companies: Companies, path: Path) -> None:
        """Create the files of the peer at `path`, which does not exist yet."""

    def connect(self, companies: Companies, path: Path) -> Peer:
        """Open the files that `load` has created."""


def engine(name: str) -> Engine:
    """Import the module of the peer `name`, and with it its library."""
    module: Engine = import_module(f"tests.bench.peers.{name}")
    return module
