"""`q` in names: from a part of a word to the rows that hold it, exactly and without a scan.

Names repeat few words, so the index is of the distinct words: their texts, for each the rows whose
name holds it, and all their suffixes, sorted. A `q` without a blank occurs in a word exactly where
it begins one of its suffixes: a binary search gives an interval of suffixes, hence words, hence
rows. Where the words of an interval are too frequent to unite during a search, the build has
united them: `heavy` holds one bitmap for each such interval, whatever the `q` that leads to it.

A `q` with blanks begins at the end of a word and ends at the beginning of another one; the rows of
its rarest part are looked at by name. Useful for: any substring, of any length, with an exact
count. Not useful for: typing errors, or words in another order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from shards import texts
from shards.format import HEAVY_POSTINGS, SUFFIX_BYTES, U4
from shards.orders import Rows
from shards.texts import END, Interval, Texts

# Below this many candidates, reading their names is cheaper than intersecting another list.
FEW: Final = 512


@dataclass(frozen=True, slots=True)
class Words:
    """The index of one shard.

    `suffixes` are positions in `words.data`, sorted by the SUFFIX_BYTES bytes that follow; the rows
    of word i are postings[starts[i] : starts[i + 1]], ascending.
    """

    words: Texts
    suffixes: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    postings: Rows


class Heavy(Protocol):
    """Looks up the rows that the build has united for an interval of suffixes."""

    def __call__(self, interval: Interval) -> BitMap | None: ...


# -- build -----------------------------------------------------------------------


def build(folded: Sequence[str]) -> Words:
    """The index of the folded names of rows 0, 1, …"""
    per_row = [name.split() for name in folded]
    vocabulary = sorted({word for row in per_row for word in row})  # code points sort as UTF-8 does
    number = {word: index for index, word in enumerate(vocabulary)}
    word_of = np.array([number[word] for row in per_row for word in row], dtype=np.uint32)
    row_of = np.repeat(
        np.arange(len(per_row), dtype=np.uint32), np.array([len(r) for r in per_row], dtype=np.intp)
    )
    # A name may repeat a word; (word, row) pairs are unique and sorted, so postings ascend.
    pairs = np.unique(word_of.astype(np.uint64) << np.uint64(32) | row_of)
    owners = (pairs >> np.uint64(32)).astype(np.uint32)
    starts = np.searchsorted(owners, np.arange(len(vocabulary) + 1)).astype(np.uint32)
    packed = texts.pack(vocabulary)
    return Words(packed, _suffixes(packed), starts, pairs.astype(np.uint32))


def heavy(words: Words, rows: int) -> Iterator[tuple[Interval, BitMap]]:
    """Each interval of suffixes with more than HEAVY_POSTINGS postings, and the rows they unite.

    These are the heavy nodes of the suffix tree of the words, met from the root down: a part of a
    node that is light has only light parts.
    """
    owners = _owners(words, words.suffixes)
    weight = np.concatenate(([0], np.cumsum(np.diff(words.starts)[owners], dtype=np.int64)))
    data = np.frombuffer(bytes(words.words.data) + bytes(SUFFIX_BYTES + 1), dtype=np.uint8)
    pending = [(Interval(0, len(words.suffixes)), 0)]
    met: set[Interval] = set()  # a node with one heavy part is that part, one letter further
    while pending:
        interval, depth = pending.pop()
        for part in _split(data, words.suffixes, interval, depth):
            if weight[part.end] - weight[part.first] <= HEAVY_POSTINGS:
                continue
            if part not in met and _is_whole(data, words.suffixes, part, depth + 1):
                met.add(part)
                yield part, BitMap(_united(words, owners[part.first : part.end], rows))
            if depth + 1 < SUFFIX_BYTES:
                pending.append((part, depth + 1))


def _suffixes(words: Texts) -> NDArray[np.uint32]:
    data = np.frombuffer(bytes(words.data) + bytes(SUFFIX_BYTES), dtype=np.uint8)
    text = data[: len(words.data)]
    # A suffix starts at a letter: not at an END, not inside a character.
    starts = np.flatnonzero((text != END[0]) & (text & 0xC0 != 0x80))
    windows = np.lib.stride_tricks.sliding_window_view(data, SUFFIX_BYTES)[starts]
    keys = np.ascontiguousarray(windows).view(f"S{SUFFIX_BYTES}").ravel()
    return starts[np.argsort(keys, kind="stable")].astype(np.uint32)


def _split(
    data: NDArray[np.uint8], suffixes: NDArray[np.uint32], interval: Interval, depth: int
) -> Iterator[Interval]:
    """The parts of `interval` by the byte at `depth`, without the suffixes that end there."""
    letters = data[suffixes[interval.first : interval.end].astype(np.intp) + depth]
    edges = np.flatnonzero(np.diff(letters)) + 1
    bounds = [0, *edges.tolist(), len(letters)]
    for first, end in pairwise(bounds):
        if end > first and letters[first] != END[0]:
            yield Interval(interval.first + first, interval.first + end)


def _is_whole(
    data: NDArray[np.uint8], suffixes: NDArray[np.uint32], interval: Interval, depth: int
) -> bool:
    """Whether the first `depth` bytes of these suffixes end between two characters."""
    return int(data[int(suffixes[interval.first]) + depth]) & 0xC0 != 0x80


# -- search ----------------------------------------------------------------------


def find(words: Words, names: Texts, heavy: Heavy, q: str) -> Rows:
    """The rows whose folded name contains the folded text `q`, which is not empty; ascending."""
    parts = [part.encode() for part in q.split()]
    if len(parts) == 1:
        return _containing(words, heavy, parts[0], len(names))
    return _across(words, names, parts)


def _containing(words: Words, heavy: Heavy, part: bytes, rows: int) -> Rows:
    interval = _suffix_interval(words, part)
    if len(part) <= SUFFIX_BYTES and (united := heavy(interval)) is not None:
        return np.asarray(united.to_array(), dtype=U4)
    owners = np.unique(_owners(words, words.suffixes[interval.first : interval.end]))
    if len(part) > SUFFIX_BYTES:
        owners = np.array([o for o in owners.tolist() if part in words.words[o]], dtype=np.uint32)
    return _united(words, owners, rows)


def _across(words: Words, names: Texts, parts: Sequence[bytes]) -> Rows:
    """Rows whose name holds `parts` in a row, the first ending a word, the last beginning one."""
    first, *middle, last = parts
    lists = [_ending(words, first), *(_exact(words, word) for word in middle)]
    lists.append(_range(_word_interval(words, last)))
    lists.sort(key=lambda owners: _weight(words, owners))
    rows = _united(words, lists[0], len(names))
    for owners in lists[1:]:
        if len(rows) <= FEW:
            break
        rows = np.intersect1d(rows, _united(words, owners, len(names)), assume_unique=True)
    return _holding(names, rows, b" ".join(parts))


def _holding(names: Texts, rows: Rows, text: bytes) -> Rows:
    """Those of `rows` whose name contains `text`: read one by one, without a call for each."""
    data = names.data
    places = zip(names.starts[rows].tolist(), names.starts[rows + 1].tolist(), strict=True)
    held = [text in bytes(data[start:end]) for start, end in places]
    found: Rows = rows[np.array(held, dtype=bool)]
    return found


def _ending(words: Words, part: bytes) -> NDArray[np.uint32]:
    """The words that end with `part`."""
    interval = _suffix_interval(words, part + END)
    owners = np.unique(_owners(words, words.suffixes[interval.first : interval.end]))
    if len(part) >= SUFFIX_BYTES:
        owners = np.array(
            [o for o in owners.tolist() if words.words[o].endswith(part)], dtype=np.uint32
        )
    return owners


def _exact(words: Words, word: bytes) -> NDArray[np.uint32]:
    interval = texts.beginning_with(word + END, len(words.words), lambda i: words.words[i] + END)
    return _range(interval)


def _word_interval(words: Words, prefix: bytes) -> Interval:
    return texts.beginning_with(prefix, len(words.words), words.words.__getitem__)


def _suffix_interval(words: Words, part: bytes) -> Interval:
    data, suffixes, part = words.words.data, words.suffixes, part[:SUFFIX_BYTES]

    def at(index: int) -> bytes:
        start = int(suffixes[index])
        return bytes(data[start : start + len(part)])

    return texts.beginning_with(part, len(suffixes), at)


def _owners(words: Words, positions: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The words in which these positions of the text lie."""
    return (np.searchsorted(words.words.starts, positions, side="right") - 1).astype(np.uint32)


def _range(interval: Interval) -> NDArray[np.uint32]:
    return np.arange(interval.first, interval.end, dtype=np.uint32)


def _weight(words: Words, owners: NDArray[np.uint32]) -> int:
    return int((words.starts[owners + 1].astype(np.int64) - words.starts[owners]).sum())


def _united(words: Words, owners: NDArray[np.uint32], rows: int) -> Rows:
    """The rows of all these words, ascending, each once; `rows` is the size of the shard."""
    if len(owners) == 1:
        only = int(owners[0])
        return words.postings[words.starts[only] : words.starts[only + 1]]
    first = words.starts[owners].astype(np.int64)
    count = words.starts[owners + 1].astype(np.int64) - first
    # The places of all the lists, one after the other, without a loop over the lists.
    ends = np.cumsum(count)
    places = np.repeat(first - (ends - count), count) + np.arange(int(count.sum()))
    found = words.postings[places]
    if len(found) * 16 < rows:
        return np.unique(found)
    mask = np.zeros(rows, dtype=bool)
    mask[found] = True
    return np.flatnonzero(mask).astype(U4)
