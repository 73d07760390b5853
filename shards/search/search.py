"""A search over a whole generation: an exact total, and one page of it.

The compiled modules of `shards/kernel/` answer for all chosen countries in one call. The batch job checks
a generation with them before publication, the server answers with them: there is one search.
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

# A budget that no search reaches.
UNLIMITED: Final = float("inf")


class ShardSet(dict[str, Shard]):
    """The shards of a generation, by country.

    What a search needs of them is gathered at the first one and kept until `forget`, so no shard may be
    added, replaced or closed in between. Each thread that searches has working memory of its own.

    Attributes:
        missing: countries whose shards are damaged; no question about them has an answer.
        found_damaged: files of open shards that no search can use; so none has an answer until they are left out.
        memo: what follows from all shards together, by name.
    """

    def __init__(self, missing: Collection[str] = ()) -> None:
        super().__init__()
        self.missing = frozenset(missing)
        self.found_damaged: set[str] = set()
        self.memo: dict[str, Any] = {}
        self._making = threading.Lock()
        self._arrays: GenerationArrays | None = None
        self._damage: tuple[str, str | None] | None = None
        self._sessions = threading.local()

    def __missing__(self, iso2: str) -> Shard:
        if iso2 in self.missing:
            raise MissingCountryError(iso2)
        raise KeyError(iso2)

    def require(self, pays: Collection[str]) -> None:
        """Check that the countries of a search are here; none means all.

        Raises:
            MissingCountryError: one is not, so a total would be wrong.
        """
        if lost := self.missing.intersection(pays) if pays else self.missing:
            raise MissingCountryError(min(lost))

    def own_session(self) -> kernel_session.KernelSession:
        """The session of this thread with the compiled engine.

        Raises:
            CorruptError: an array of a shard is shorter than another one needs; `found_damaged` has its file.
        """
        found: kernel_session.KernelSession | None = getattr(self._sessions, "found", None)
        if found is None:
            with self._making:
                if self._arrays is None:
                    self._arrays = self._make_arrays()
            found = self._sessions.found = kernel_session.KernelSession(self._arrays)
        return found

    def _make_arrays(self) -> GenerationArrays:
        """The arrays; where they cannot be made, the next search is told so without another attempt."""
        if self._damage is not None:
            text, path = self._damage
            known = CorruptError(text)
            known.path = path
            raise known
        try:
            return GenerationArrays(self)
        except CorruptError as error:
            self._damage = str(error), error.path
            if error.path is not None:
                self.found_damaged.add(error.path)
            raise

    def forget(self) -> None:
        """Drop what searches need of the shards, so that these can be closed; no search may run."""
        self._arrays, self._damage, self._sessions = None, None, threading.local()
        self.memo.clear()


def search(base: ShardSet, query: Query, *, offset: int, limit: int) -> ResultPage:
    """Rows [offset, offset + limit) of the companies that match, and how many match.

    Args:
        base: all countries of a generation; those of `query.pays` must be among them.
        offset, limit: at least 0.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
        MissingCountryError: a country of the search is left out.
    """
    found = search_within(base, query, UNLIMITED, offset=offset, limit=limit)
    assert found is not None
    return found


def records(base: ShardSet, rows: Sequence[tuple[str, int]], *, coordonnees: bool) -> bytes:
    """The JSON objects of companies, joined by commas; without `coordonnees` contact fields are null.

    Args:
        rows: countries and row numbers, as those of a page.

    Raises:
        CorruptError: a record is damaged.
    """
    return base.own_session().joiner.join(rows, coordonnees=coordonnees)


def search_within(
    base: ShardSet, query: Query, budget: float, *, offset: int, limit: int
) -> ResultPage | None:
    """`search`, if it costs at most `budget` microseconds, by estimate; else None, at once."""
    if base.missing:
        base.require(query.pays)
    return base.own_session().page(query, 1e3 * budget, offset=offset, limit=limit)
