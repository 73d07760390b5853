"""Damaged shards: a search answers, or raises an error that says so; it never reads outside an array.

Interpreted modules raise IndexError where compiled ones would read outside, so they are the judge; the
compiled ones then search the same file.
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
from tests.shards.altered import altered, value_places, written
from tests.shards.search.open_shards import INTERPRETED_MODULES
from tests.shards.search.test_search import tuned
from tests.world import company, write_shard

FOUND: Final = [
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
    for nom, ca, site in [
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
TABLES: Final = [name for name in format.TABLES if name not in (format.RECORD, format.COMPTES)]


# Large shards have sets, heads and lists that this small one has under other thresholds only.
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
        (row_sets, "_DENSE"): 3,
    },
]


# The modules of both engines, the interpreted one first.
ENGINES: Final[tuple[Mapping[str, ModuleType], ...]] = (
    INTERPRETED_MODULES,
    {name: importlib.import_module(name) for name in INTERPRETED_MODULES},
)


def questions(modules: Mapping[str, ModuleType], base: ShardSet) -> list[Callable[[], object]]:
    """What is asked of a shard: searches, counts, completions, and candidates of a name."""
    searching, distribution, rows, suggestions = (
        modules[f"shards.{name}"]
        for name in (
            "search.search", "search.distribution", "matching.candidate_rows",
            "suggest.suggestions",
        )
    )  # fmt: skip
    lookup = rows.CandidateRows(base.own_session().arrays)
    spellings = [Spelling(text, i, 1.0) for i, text in enumerate(("fitlab", "fitlb", "ab", "17"))]
    found: list[Callable[[], object]] = [
        partial(searching.search, base, query, offset=0, limit=60) for query in QUERIES
    ]
    for query in QUERIES[:: len(QUERIES) // 5]:
        found += [
            partial(distribution.count_facets, base, query, limit=20),
            partial(distribution.distributions, base, query, distribution.DIMENSIONS, UNLIMITED),
        ]
    for q in ("a", "fit", "ab c", "4 f", "t"):
        found += [
            partial(suggestions.companies, base, q, (), 5),
            partial(suggestions.words, base, q, (), 5),
            partial(suggestions.towns, base, q, (), 5),
        ]
    return [*found, partial(lookup.rows, spellings, [0], near=True)]


def _damage(path: Path, chance: random.Random) -> None:
    """Change a bit or four bytes, or cut the end, of one value of the file."""
    with altered(path, chance.choice(TABLES)) as txn:
        found = [(bytes(key), bytearray(value)) for key, value in txn.cursor() if value]
        if not found:
            return
        key, value = chance.choice(found)
        place = chance.randrange(len(value))
        match chance.choice(("bit", "bytes", "end")):
            case "bit":
                value[place] ^= 1 << chance.randrange(8)
            case "bytes":
                value[place & ~3 : (place & ~3) + 4] = b"\xff" * min(4, len(value) - (place & ~3))
            case "end":
                del value[place & ~7 :]
        txn.put(key, bytes(value))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("thresholds", THRESHOLDS, ids=["small", "large"])
def test_a_damaged_shard_answers_or_is_refused(
    thresholds: dict[tuple[Any, str], Any], seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    with tuned(thresholds, {}):
        write_shard(tmp_path / "whole", "EE", FOUND)
        for _ in range(40):
            shutil.copy(tmp_path / "whole", tmp_path / "EE")
            _damage(tmp_path / "EE", chance)
            for modules in ENGINES:
                with suppress(ShardError, UnicodeDecodeError), Shard(tmp_path / "EE") as shard:
                    base = modules["shards.search.search"].ShardSet()
                    base["EE"] = shard
                    for ask in questions(modules, base):
                        with suppress(ShardError):
                            ask()


@pytest.mark.parametrize(
    ("table", "key", "width", "value"),
    [
        (format.CODE, b"ville.spelling_ends", 4, b"\xff\xff\xff\xff"),
        (format.STEP, b"ca_desc", 4, b"\xff\xff\xff\xff"),
        (format.STEP, b"ca_desc", 4, b"\x00\x00\x00\x00"),
        (format.WORD, b"data", 1, b"\x80"),
        (format.WORD, b"data", 1, b"\xbf"),
    ],
)
def test_what_changes_under_an_open_shard_is_refused_or_answered(
    table: bytes, key: bytes, width: int, value: bytes, tmp_path: Path
) -> None:
    write_shard(tmp_path / "EE", "EE", FOUND)
    start, size = value_places(tmp_path / "EE")[table, key]
    for modules in ENGINES:
        for number in range(size // width):
            with (
                Shard(tmp_path / "EE") as shard,
                written(tmp_path / "EE", start + number * width, value),
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


def test_counts_of_codes_that_do_not_add_up_leave_the_country_out_at_the_first_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L8: each search gathered all arrays again, up to fifteen times as long as the search itself"""
    write_shard(tmp_path / "EE", "EE", FOUND)
    attempts: list[ShardSet] = []

    class Counted(GenerationArrays):
        def __init__(self, shards: Mapping[str, Shard]) -> None:
            attempts.append(shards)  # type: ignore[arg-type]
            super().__init__(shards)

    monkeypatch.setattr(search_module, "GenerationArrays", Counted)
    places = value_places(tmp_path / "EE")
    names = [key for table, key in places if table == format.CODE and key.endswith(b"ends")]
    names.remove(b"ville.spelling_ends")
    tried = 0
    for name in names:
        start, size = places[format.CODE, name]
        for number in range(size // 4):
            for value in (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x59\x00\x00\x00"):
                with Shard(tmp_path / "EE") as shard:
                    held = np.frombuffer(shard.file.value(format.CODE, name), "<u4").tolist()
                    held[number] = int.from_bytes(value, "little")
                    if held[0] == 0 and held == sorted(held) and held[-1] == shard.rows:
                        continue
                    with written(tmp_path / "EE", start + 4 * number, value):
                        base = ShardSet()
                        base["EE"] = shard
                        for query in QUERIES:
                            with pytest.raises(ShardError):
                                search(base, query, offset=0, limit=9)
                        assert base.found_damaged == {str(tmp_path / "EE")}, (name, number)
                        assert len(attempts) == 1
                        attempts.clear()
                        tried += 1
    assert tried > 200
