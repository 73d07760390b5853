"""What the bench asks of a peer, and how one is found by its name."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Protocol

from tests.bench.peers.companies import Companies
from tests.bench.questions.question import Answer, Question

# The modules of this folder that are peers, and the distribution that each needs.
NEEDS: Final = {"duckdb": "duckdb", "sqlite": "sqlite3", "tantivy": "tantivy"}


class TooSlow(Exception):  # noqa: N818 -- an outcome, not a fault
    """The peer was interrupted before it had answered."""


class NotExpressible(Exception):  # noqa: N818 -- an outcome, not a fault
    """The peer has no way to ask this exactly."""


class Peer(Protocol):
    """An engine that is open for reading."""

    def search(self, question: Question) -> Answer:
        """Answer, or raise TooSlow after `interrupt`, or NotExpressible."""

    def interrupt(self) -> None:
        """End the search under way; called by another thread. Some engines cannot."""

    def close(self) -> None: ...


class Engine(Protocol):
    """What a module of this folder holds."""

    def version(self) -> str: ...

    def load(self, companies: Companies, path: Path) -> None:
        """Make the files of the peer at `path`, which is not there yet."""

    def connect(self, companies: Companies, path: Path) -> Peer:
        """Open what `load` has made."""


def installed(name: str) -> bool:
    """Whether the peer `name` of NEEDS can be used here."""
    return find_spec(NEEDS[name]) is not None


def engine(name: str) -> Engine:
    """The peer `name`; its library is imported only now."""
    found: Engine = import_module(f"tests.bench.peers.{name}")
    return found
