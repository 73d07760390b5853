"""Damaged shards: a search answers or raises a ShardError; it does not read outside an array.

Interpreted modules raise IndexError for an index outside an array, so they search each file first; compiled modules
then search the same file.
"""

import importlib
import random
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
import pytest

from serve.contract.seed_tables import number_notation
from shards import format
from shards.codec import row_sets
from shards.errors import ShardError
from shards.matching.candidate_rows import Spelling
from shards.query import ORDERS, STATES, Query, Range
from shards.reader.shard import Shard
from shards.search import row_bitmap
from shards.search import search as search_module
from shards.search.distribution import towns_of
from shards.search.generation_arrays import GenerationArrays
from shards.search.search import UNLIMITED, ShardSet, search
from tests.shards.search.open_shards import INTERPRETED_MODULES
from tests.shards.search.test_search import tuning
from tests.shards.shard_edits import edit_table, overwrite, value_places
from tests.world import company, write_shard

COMPANIES: Final = [
    company(
        "EE",
        f"{i:04}",
        nom,
        division="62",
        groupe=f"62.{i // 50}",
        ca_eur=ca,
        effectif=i % 9,
        site_web=site,
        etat=STATES[i % 4],
        forme=f"F{i % 3}",
        ville=f"T{i % 7}",
        code_postal=f"{i % 11}",
        nace_code=f"62.{i // 50}{i % 4}",
        date_creation=f"20{10 + i % 9}",
        actif_eur=float(i - 5),
        a_comptes=i % 3 == 0,
    )
    for i in range(90)
    for nom, ca, site in [  # one tuple: the name, the turnover and the website of company i
        (f"ab cd {i % 5} Fitlab {i}", float(i % 4) if i % 3 else None, "a" if i % 2 else None)
    ]
]
QUERIES: Final = [
    Query(tri=tri, **fields)
    for tri in ORDERS
    for fields in (
        {},
        {"q": "a"},
        {"q": "0"},
        {"q": "fitlab", "ranges": (Range("ca_eur", 1.0),)},
        {"q": "b c"},
        {"q": "cd 3 fit", "ranges": (Range("effectif", 2),)},
        {"secteurs": ("62",), "ranges": (Range("ca_eur", None, 2.0),), "site_web": True},
        {"ranges": (Range("effectif", 3, 6),)},
        {"ranges": (Range("effectif", 3), Range("ca_eur", 1.0)), "site_web": True},
        {"etats": ("active", "cessee"), "avec_comptes": True, "q": "a"},
        {"villes": ("t1", "t5"), "codes_postaux": ("1", "3"), "formes": ("F1", "F2")},
        {"villes": ("t1",), "ranges": (Range("ca_eur", 1.0), Range("effectif", 1))},
        {"nace": ("62.01", "62.03"), "ranges": (Range("actif_eur", -2.0),)},
        {"nace": ("62",), "formes": ("F0",)},
        {"ranges": (Range("creation", 20120101, 20141231), Range("actif_eur", None, 50.0))},
        {"ids": (("EE", "0003"), ("EE", "0050")), "etats": ("inconnu",)},
    )
]
# The tables whose values are damaged here; tests/shards/search/test_records.py damages records and statements.
TABLES: Final = [name for name in format.TABLES if name not in (format.RECORD, format.COMPTES)]


# With the second thresholds, a small shard has the sets, heads and lists of a large shard.
THRESHOLDS: Final[list[dict[tuple[Any, str], Any]]] = [
    {},
    {
        (format, "HEAVY_LEAST"): 1,
        (format, "HEAVY_SHARE"): 2**31,
        (format, "COUNTED_LEAST"): 0,
        (format, "COUNTED_SHARE"): 2**31,
        (format, "HEADED_LEAST"): 4,
        (format, "HEAD_ROWS"): 2,
        (format, "TOP_ROWS"): 8,
        (format, "TOP_LEAST"): 4,
        (row_sets, "_DENSE_FROM"): 3,
    },
]


# The modules of both engines, the interpreted one first.
ENGINES: Final[tuple[Mapping[str, ModuleType], ...]] = (
    INTERPRETED_MODULES,
    {name: importlib.import_module(name) for name in INTERPRETED_MODULES},
)


def shard_calls(modules: Mapping[str, ModuleType], base: ShardSet) -> list[Callable[[], object]]:
    """Calls without arguments that read all parts of a shard: searches, counts, completions, candidates of a name.

    `modules` are the modules of one engine, compiled or interpreted.
    """
    searching, distribution, rows, suggestions = (
        modules[f"shards.{name}"]
        for name in (
            "search.search", "search.distribution", "matching.candidate_rows",
            "suggest.suggestions",
        )
    )  # fmt: skip
    lookup = rows.CandidateRows(base.own_session().arrays)
    spellings = [Spelling(text, i, 1.0) for i, text in enumerate(("fitlab", "fitlb", "ab", "17"))]
    calls: list[Callable[[], object]] = [
        partial(searching.search, base, query, offset=0, limit=60) for query in QUERIES
    ]
    for query in QUERIES[:: len(QUERIES) // 5]:
        calls += [
            partial(distribution.count_facets, base, query, limit=20),
            partial(distribution.distributions, base, query, distribution.DIMENSIONS, UNLIMITED),
        ]
    for q in ("a", "fit", "ab c", "4 f", "t"):
        calls += [
            partial(suggestions.companies, base, q, (), 5),
            partial(suggestions.words, base, q, (), 5),
            partial(suggestions.towns, base, q, (), 5),
        ]
    return [*calls, partial(lookup.rows, spellings, [0], near=True)]


def _damage_a_value(path: Path, chance: random.Random) -> None:
    """Change a bit or four bytes, or cut the end, of one value of the file."""
    with edit_table(path, chance.choice(TABLES)) as txn:
        entries = [(bytes(key), bytearray(value)) for key, value in txn.cursor() if value]
        if not entries:
            return
        key, value = chance.choice(entries)
        position = chance.randrange(len(value))
        match chance.choice(("bit", "bytes", "end")):
            case "bit":
                value[position] ^= 1 << chance.randrange(8)
            case "bytes":  # from a multiple of 4 on, so that a number of 4 bytes changes
                value[position & ~3 : (position & ~3) + 4] = b"\xff" * min(
                    4, len(value) - (position & ~3)
                )
            case "end":
                del value[position & ~7 :]
        txn.put(key, bytes(value))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("thresholds", THRESHOLDS, ids=["small", "large"])
def test_a_damaged_shard_answers_or_is_refused(
    thresholds: dict[tuple[Any, str], Any], seed: int, tmp_path: Path
) -> None:
    """Calls over a damaged shard return an answer or raise an error of shards; the process never dies."""
    chance = random.Random(seed)
    with tuning(thresholds, {}):
        write_shard(tmp_path / "whole", "EE", COMPANIES)
        for _ in range(40):
            shutil.copy(tmp_path / "whole", tmp_path / "EE")
            _damage_a_value(tmp_path / "EE", chance)
            for modules in ENGINES:
                with suppress(ShardError, UnicodeDecodeError), Shard(tmp_path / "EE") as shard:
                    base = modules["shards.search.search"].ShardSet()
                    base["EE"] = shard
                    for call in shard_calls(modules, base):
                        with suppress(ShardError):
                            call()


@pytest.mark.parametrize(
    ("table", "key", "width", "value"),
    # `value` overwrites each number or byte of the array. No character begins with the bytes 0x80 and 0xbf.
    [
        (format.CODE, b"ville.spelling_ends", 4, b"\xff\xff\xff\xff"),
        (format.STEP, b"ca_desc", 4, b"\xff\xff\xff\xff"),
        (format.STEP, b"ca_desc", 4, b"\x00\x00\x00\x00"),
        (format.WORD, b"data", 1, b"\x80"),
        (format.WORD, b"data", 1, b"\xbf"),
    ],
)
def test_a_shard_that_changes_while_it_is_open_answers_or_is_refused(
    table: bytes, key: bytes, width: int, value: bytes, tmp_path: Path
) -> None:
    """Each number of an array is overwritten alone, before the functions that read the array are called."""
    write_shard(tmp_path / "EE", "EE", COMPANIES)
    start, size = value_places(tmp_path / "EE")[table, key]
    for modules in ENGINES:
        for index in range(size // width):
            with (
                Shard(tmp_path / "EE") as shard,
                overwrite(tmp_path / "EE", start + index * width, value),
            ):
                base = modules["shards.search.search"].ShardSet()
                base["EE"] = shard
                with suppress(ShardError):
                    modules["shards.suggest.proposals"].nearest_texts(
                        base, Query(q="fitlba"), number_notation()
                    )
                with suppress(ShardError):
                    row_bitmap.turnover_sequence(base)
                with suppress(ShardError):
                    towns_of(base).spelling(0)


def test_a_country_whose_counts_of_codes_do_not_add_up_is_left_out_at_the_first_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L8: in an earlier version, each search gathered all arrays again and took up to fifteen times as long"""
    write_shard(tmp_path / "EE", "EE", COMPANIES)
    gathered_bases: list[ShardSet] = []

    class CountingArrays(GenerationArrays):
        """Arrays that note for which base they are gathered."""

        def __init__(self, shards: Mapping[str, Shard]) -> None:
            gathered_bases.append(shards)  # type: ignore[arg-type]
            super().__init__(shards)

    monkeypatch.setattr(search_module, "GenerationArrays", CountingArrays)
    places = value_places(tmp_path / "EE")
    names = [key for table, key in places if table == format.CODE and key.endswith(b"ends")]
    names.remove(b"ville.spelling_ends")
    refused_values = 0
    for name in names:
        start, size = places[format.CODE, name]
        for index in range(size // 4):
            # The greatest number, the greatest signed number, and 89, one less than the number of rows.
            for value in (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x59\x00\x00\x00"):
                with Shard(tmp_path / "EE") as shard:
                    numbers = np.frombuffer(shard.file.value(format.CODE, name), "<u4").tolist()
                    numbers[index] = int.from_bytes(value, "little")
                    if numbers[0] == 0 and numbers == sorted(numbers) and numbers[-1] == shard.rows:
                        continue
                    with overwrite(tmp_path / "EE", start + 4 * index, value):
                        base = ShardSet()
                        base["EE"] = shard
                        for query in QUERIES:
                            with pytest.raises(ShardError):
                                search(base, query, offset=0, limit=9)
                        assert base.found_damaged == {str(tmp_path / "EE")}, (name, index)
                        assert len(gathered_bases) == 1
                        gathered_bases.clear()
                        refused_values += 1
    assert refused_values > 200  # few values are skipped because they are valid
