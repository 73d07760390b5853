"""Companies of a town whose names begin with the letters of a line: IBM, International Business Machines.

No index leads from initials to names, and many names share them; those of one town are few, and the town speaks for
them besides. Here every short word may have a letter or none, and words may follow; which of them do is compared as
all names are (`name_comparison.py`).
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import flatnonzero
from shards.codec.folding import fold
from shards.codec.strings import place_of
from shards.kernel import types
from shards.matching.candidate_rows import INITIALS, FoundRow
from shards.reader.shard import Shard

# Words of so many bytes may have no letter: `and`, `für`, `GmbH`.
_SHORT: Final = 4
# Of a larger town too many companies share initials, and reading the names of all takes too long.
_LARGEST_TOWN: Final = 50_000


def candidates(
    shards: Sequence[Shard], chosen: Sequence[int], words: Sequence[str], ville: str | None
) -> Iterator[FoundRow]:
    """Rows of a town in the chosen shards whose words begin with the letters of a name of one word.

    Those with the fewest words behind the last letter come first.
    """
    if not ville or len(words) != 1 or len(words[0]) not in INITIALS:
        return
    letters, town = words[0].encode(), fold(ville).encode()
    if letters.isalpha():  # of ASCII
        for number in chosen:
            rows = _rows_beginning(shards[number], _rows_of(shards[number], town), letters)
            yield from (FoundRow(0.0, number, row) for row in rows[: types.KEPT].tolist())


def _rows_of(shard: Shard, town: bytes) -> NDArray[Any]:
    """The rows of a town, none of one that is too large."""
    place = place_of(shard.code_texts("ville"), town)
    if place < 0:
        return np.empty(0, np.int64)
    ends = shard.code_array("ville.ends")
    if int(ends[place + 2]) - int(ends[place + 1]) > _LARGEST_TOWN:
        return np.empty(0, np.int64)
    return flatnonzero(shard.codes("ville") == place + 1)


def _rows_beginning(shard: Shard, rows: NDArray[Any], letters: bytes) -> NDArray[Any]:
    """Those of the `rows` whose words begin with these letters, one after the other; short words may be left out."""
    index = shard.words
    starts, tokens = np.asarray(index.token_starts), np.asarray(index.tokens)
    texts, begins = np.asarray(index.words.data), np.asarray(index.words.starts)
    last = len(begins) - 2
    # Bit n of a row: its words so far may be the first n letters. Of a letter: the bits of a row that it moves.
    reached = np.ones(len(rows), np.int32)
    moved = np.zeros(256, np.int32)
    for place, letter in enumerate(letters):
        moved[letter] |= 1 << place
    found = [np.empty((0, 2), np.int64)]
    place = 0
    while len(rows):
        left = starts[rows + 1] - starts[rows] - place
        rows, reached, left = (array[left > 0] for array in (rows, reached, left))
        words = tokens[starts[rows] + place]
        is_present = words <= last  # the mark of a former name is after every word
        rows, reached, left, words = (array[is_present] for array in (rows, reached, left, words))
        is_short = begins[words + 1] - begins[words] <= _SHORT + 1
        reached = (reached & moved[texts[begins[words]]]) << 1 | reached * is_short
        ends = reached >> len(letters) & 1 == 1
        found.append(np.column_stack((left[ends], rows[ends])))
        goes_on = (reached != 0) & ~ends
        rows, reached = rows[goes_on], reached[goes_on]
        place += 1
    left, rows = np.concatenate(found).T
    return rows[np.argsort(left, kind="stable")]
