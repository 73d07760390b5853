"""Verification of the indexes of names and identifiers against the records (FORMAT.md §9, invariants 3, 5 and 6)."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np

from shards import format
from shards.codec import strings
from shards.codec.folding import fold, fold_id
from shards.codec.row_sets import Packing
from shards.codec.strings import END, Texts
from shards.reader import lookups
from shards.reader.shard import Shard
from shards.verify import contents
from shards.verify.contents import Contents
from shards.writing import name_index
from shards.writing.name_index import FoldedNames, Postings

_WINDOWS: Final = range(0, format.SUFFIX_BYTES, strings.CHUNK)


def faults(shard: Shard, decoded: Contents, packing: Packing) -> Iterator[str]:
    """Messages about faults of the indexes.

    The later checks compute from the words of each name, so they run only if these are correct.
    """
    wrong = list(_name_faults(shard, decoded)) + list(_word_faults(shard))
    yield from wrong
    if not wrong:
        yield from _order_faults(shard, decoded)
        yield from _suffix_faults(shard)
        wrong = list(_ident_faults(shard, decoded))
        yield from wrong
        if not wrong:
            yield from _set_faults(shard, packing)


def _name_faults(shard: Shard, decoded: Contents) -> Iterator[str]:
    """Check that the words of each row are those of its name and its former names."""
    index, former = shard.words, decoded.former
    words = index.tokens[index.tokens != format.FORMER_NAME]
    if len(words) and int(words.max()) >= len(index.words):
        yield "a name has a word that does not exist"
        return
    for rows in contents.batches(shard.rows):
        folded = lookups.folded_names(index, np.array(rows, dtype=np.uint32))
        ends = np.searchsorted(former.rows, np.arange(rows.start, rows.stop + 1)).tolist()
        for row, names, first, end in zip(rows, folded, ends, ends[1:], strict=False):
            published = [
                fold(former.noms[number].decode()).encode() for number in range(first, end)
            ]
            if names[1:] != [name for name in published if name]:
                yield f"the folded former names of row {row} are not those of its record"
            if names[0] != fold(decoded.noms[row].decode()).encode():
                yield f"the folded name of row {row} is not that of {decoded.noms[row].decode()!r}"


def _word_faults(shard: Shard) -> Iterator[str]:
    """Check that words ascend, and that the postings are exactly the words of each name."""
    index = shard.words
    words = bytes(index.words.data).split(END)[:-1]
    if any(one >= other for one, other in pairwise(words)):
        yield "the words are not sorted, each once"
    made = name_index.make_postings(_names(shard))
    if not np.array_equal(made.rows, index.postings):
        yield "the postings are not the rows of the words"
    if not np.array_equal(name_index.word_owners(index.words), index.owners):
        yield "the owners are not the words of their bytes"
    if not np.array_equal(made.starts, index.starts):
        yield "the starts of the postings are not those of their words"


def _order_faults(shard: Shard, decoded: Contents) -> Iterator[str]:
    """Check that names ascend in the order `nom`: by folded name, raw name, identifier."""
    order = shard.order("nom")
    before: tuple[bytes, ...] = ()
    for places in contents.batches(shard.rows):
        rows = order[places.start : places.stop]
        folded = lookups.folded_names(shard.words, rows)
        for row, names in zip(rows.tolist(), folded, strict=True):
            key = (names[0], decoded.noms[row], bytes(decoded.ids[row]))
            if key <= before:
                yield f"order nom does not follow the names of the records at row {row}"
            before = key


def _suffix_faults(shard: Shard) -> Iterator[str]:
    """Check that the suffixes are all places of characters, sorted by the bytes there."""
    found = shard.words.suffixes
    data = strings.pad(found.data, format.SUFFIX_BYTES)
    text = data[: len(found.data)]
    if not np.array_equal(
        np.sort(found.places), np.flatnonzero((text != END[0]) & (text & 0xC0 != 0x80))
    ):
        yield "the suffixes are not the characters of the words"
        return
    places = found.places.astype(np.int64)
    keys = [strings.prefix_keys(data, places + window) for window in _WINDOWS]
    if not np.array_equal(found.keys, keys[0][:: format.SAMPLED]):
        yield "the keys of the suffixes are not their first bytes"
    later = places[1:] > places[:-1]
    for key in reversed(keys):
        later = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & later)
    if not later.all():
        yield "the suffixes do not ascend"


def _set_faults(shard: Shard, packing: Packing) -> Iterator[str]:
    """Check that the stored row sets are complete and correct."""
    index, names, idents = shard.words, _names(shard), shard.idents
    postings = Postings(index.postings, index.starts)
    heavy = name_index.heavy_sets(index.words, index.suffixes.places, postings, packing)
    texts, places = shard.phrases
    stored = {
        table.decode(): (sets.keys.tolist(), sets.places)
        for table in (format.HEAVY, format.JUNCTION, format.PREFIX)
        for sets in [shard.set_index(table)]
    }
    stored["phrase"] = [texts[number] for number in range(len(texts))], places
    expected: Mapping[str, Iterable[tuple[Any, bytes]]] = {
        "heavy": sorted(heavy),
        "junction": name_index.junction_sets(names, packing),
        "phrase": name_index.phrase_sets(names, packing),
        "prefix": name_index.prefix_sets(_folded_names(shard), idents.rows, packing),
    }
    end = 1  # the place where the next set begins; equal ones are stored once
    known: dict[bytes, int] = {}
    for table, sets in expected.items():
        keys, set_places = stored[table]
        number = -1
        for number, (key, packed) in enumerate(sets):
            place = known.setdefault(packed, end)
            if number >= len(set_places) or keys[number] != key or set_places[number] != place:
                yield f"set {number} of {table} is not that of {key!r}"
                return
            if place != end:
                continue
            if not _holds(shard, end, packed):
                yield f"set {number} of {table}, of {key!r}, is not that of the names or identifiers"
                return
            end += -(-len(packed) // format.SET_ALIGNMENT)
        if not len(keys) == len(set_places) == number + 1:
            yield f"{table} has {len(keys)} sets, {len(set_places)} places, instead of {number + 1}"
    if 2 * end != len(shard.sets):
        yield f"the row sets end at {len(shard.sets) // 2} instead of {end}"


def _holds(shard: Shard, place: int, packed: bytes) -> bool:
    """Whether the set at a place is this one."""
    stored = shard.sets[2 * place :][: -(-len(packed) // 4)].tobytes()
    return stored[: len(packed)] == packed


def _ident_faults(shard: Shard, decoded: Contents) -> Iterator[str]:
    """Check that the folded identifiers are those of the records, sorted, ties by row."""
    index = shard.idents
    folded = _folded_names(shard)
    if not np.array_equal(np.sort(index.rows), np.arange(shard.rows)):
        yield "the identifiers do not name each row once"
        return
    before: tuple[bytes, int] = (b"", -1)
    for place, row in enumerate(index.rows.tolist()):
        key = (folded[place], row)
        if key <= before or key[0] != fold_id(decoded.ids[row].decode()).encode():
            yield f"the identifiers are not those of the records, sorted, at row {row}"
            return
        before = key
    if not np.array_equal(
        name_index.sample_keys(folded.data, folded.starts[:-1]), index.folded.keys
    ):
        yield "the keys of the identifiers are not their first bytes"


def _names(shard: Shard) -> FoldedNames:
    index = shard.words
    return FoldedNames(index.words, index.tokens, index.token_starts)


def _folded_names(shard: Shard) -> Texts:
    index = shard.idents
    places = index.folded.places
    starts = places if isinstance(places, np.ndarray) else places.array()
    starts = np.append(starts, np.uint32(len(index.folded.data)))
    return Texts(index.folded.data, starts)
