"""A search over a complete generation: an exact total, and one page of the matches.

The compiled modules of `shards/kernel/` search all chosen countries in one call. The batch job checks a generation
with the same search that the server uses.
"""

import threading
from collections.abc import Collection, Sequence
from typing import Any, Final

from shards.errors import CorruptError, MissingCountryError
from shards.query import Query
from shards.reader.shard import Shard
from shards.search import kernel_session
from shards.search.generation_arrays import GenerationArrays
from shards.search.result_page import ResultPage

# The budget of a search without a limit.
UNLIMITED: Final = float("inf")


class ShardSet(dict[str, Shard]):
    """The shards of a generation, by country.

    The first search gathers the arrays of the shards, and they stay in memory until `forget`. Do not add, replace or
    close a shard in between. Each thread that searches has its own working memory.

    Attributes:
        missing: countries whose shards are damaged; a search of these countries raises.
        found_damaged: files of open shards that no search can use. Every search raises until these shards are left out.
        memo: values that follow from all shards together, by name.
    """

    def __init__(self, missing: Collection[str] = ()) -> None:
        """Begin without shards, which the caller adds by country."""
        super().__init__()
        self.missing = frozenset(missing)
        self.found_damaged: set[str] = set()
        self.memo: dict[str, Any] = {}
        self._arrays_lock = threading.Lock()
        self._arrays: GenerationArrays | None = None
        # The text and the path of the first error.
        self._damage: tuple[str, str | None] | None = None
        self._sessions = threading.local()

    def __missing__(self, iso2: str) -> Shard:
        """Tell a damaged country (MissingCountryError) from a country that the generation does not have (KeyError)."""
        if iso2 in self.missing:
            raise MissingCountryError(iso2)
        raise KeyError(iso2)

    def require(self, pays: Collection[str]) -> None:
        """Check that no country of a search is missing; an empty `pays` means all countries.

        Raises:
            MissingCountryError: a country is missing, so a total would be wrong.
        """
        if lost := self.missing.intersection(pays) if pays else self.missing:
            raise MissingCountryError(min(lost))

    def own_session(self) -> kernel_session.KernelSession:
        """The session of this thread with the compiled engine.

        Raises:
            CorruptError: an array of a shard is shorter than another one needs; `found_damaged` has its file.
        """
        session: kernel_session.KernelSession | None = getattr(self._sessions, "session", None)
        if session is None:
            with self._arrays_lock:
                if self._arrays is None:
                    self._arrays = self._make_arrays()
            session = self._sessions.session = kernel_session.KernelSession(self._arrays)
        return session

    def _make_arrays(self) -> GenerationArrays:
        """Gather the arrays of all shards; after a failure, each later call raises the same error at once."""
        if self._damage is not None:
            text, path = self._damage
            repeated = CorruptError(text)
            repeated.path = path
            raise repeated
        try:
            return GenerationArrays(self)
        except CorruptError as error:
            self._damage = str(error), error.path
            if error.path is not None:
                self.found_damaged.add(error.path)
            raise

    def forget(self) -> None:
        """Drop the arrays and sessions, so that the shards can be closed; no search may run meanwhile."""
        self._arrays, self._damage, self._sessions = None, None, threading.local()
        self.memo.clear()


def search(base: ShardSet, query: Query, *, offset: int, limit: int) -> ResultPage:
    """Rows [offset, offset + limit) of the companies that match, and the number of matches.

    Args:
        base: all countries of a generation; it must have the countries of `query.pays`.
        offset, limit: at least 0.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
        MissingCountryError: a country of the search is left out.
    """
    page = search_within(base, query, UNLIMITED, offset=offset, limit=limit)
    assert page is not None
    return page


def records(base: ShardSet, rows: Sequence[tuple[str, int]], *, coordonnees: bool) -> bytes:
    """The JSON objects of companies, joined by commas; without `coordonnees` contact fields are null.

    Args:
        rows: countries and row numbers, as in a page.

    Raises:
        CorruptError: a record is damaged.
    """
    return base.own_session().joiner.join(rows, coordonnees=coordonnees)


def search_within(
    base: ShardSet, query: Query, budget: float, *, offset: int, limit: int
) -> ResultPage | None:
    """`search` if its estimated cost is at most `budget` microseconds; else None, at once."""
    if base.missing:
        base.require(query.pays)
    # A session counts its budget in nanoseconds.
    return base.own_session().page(query, 1e3 * budget, offset=offset, limit=limit)
