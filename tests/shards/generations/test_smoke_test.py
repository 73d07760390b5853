"""A generation with wrong results is not published."""

from pathlib import Path

import numpy as np
import pytest

from shards import format
from shards.errors import GenerationError
from shards.generations import smoke_test
from shards.query import Query, Range
from shards.reader.shard import Shard
from shards.search.search import ShardSet
from tests.shards.shard_edits import edit_table
from tests.shards.verify.test_invariants import Damage, put_number
from tests.world import company, reference, write_shard

COMPANIES = [
    company("EE", "1", "Ännchen OÜ", division="62", groupe="62.0", ca_eur=1e6, effectif=5),
    company("EE", "2", "Lab OÜ", division="62", groupe="62.0", ca_eur=1.0, effectif=6, score=9),
    company("EE", "3", "Żabka", division="47", groupe="47.1", site_web="https://b.ee"),
    company("UK", "00000001", "'A' Rated & Co", site_web="https://a.uk"),
]


def reverse_numbers(value: bytes) -> bytes:
    """The numbers of 4 bytes in reverse order."""
    return np.frombuffer(value, dtype="<u4")[::-1].tobytes()


@pytest.mark.parametrize(
    ("table", "key", "change"),
    [
        (format.RANK, b"score", reverse_numbers),
        (format.COLUMN, b"facts", put_number("<u2", 0, 0)),
        (format.SORTED, b"facts", put_number("<u2", 0, 0)),
        (format.KEY, b"ca_desc", put_number("<f8", 0, -2e6)),
        (format.ORDER, b"nom", reverse_numbers),
        (format.WORD, b"postings", put_number("<u4", 0, 2)),
        (format.IDENT, b"rows", put_number("<u4", 0, 2)),
    ],
)
@pytest.mark.parametrize("largest", [1_000, 2])
def test_a_generation_that_opens_but_has_wrong_results_is_not_published(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table: bytes,
    key: bytes,
    change: Damage,
    largest: int,
) -> None:
    """A slow search checks a country, or sub-sectors of a country with more than `largest` companies."""
    monkeypatch.setattr(smoke_test, "LARGEST", largest)
    path = tmp_path / "EE.shard"
    write_shard(path, "EE", COMPANIES)
    with edit_table(path, table) as txn:
        txn.put(key, change(bytes(txn.get(key, b""))))
    lists = reference([entry for entry in COMPANIES if entry["iso2"] == "EE"], ["EE"])
    base = ShardSet()
    with Shard(path) as base["EE"], pytest.raises(GenerationError, match="answers wrongly: "):
        smoke_test.check(base, lists)


def test_the_text_of_a_query_has_all_its_filters() -> None:
    query = Query(pays=("EE",), q="Ä", ranges=(Range("ca_eur", 0.5),))

    bounds = "(Range(column='ca_eur', least=0.5, most=None),)"
    assert smoke_test._query_text(query) == f"pays=('EE',) q='Ä' tri='ca_desc' ranges={bounds}"
