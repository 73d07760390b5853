"""The index of words, compared with the folded names."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shards.codec.folding import fold
from shards.reader.lookups import folded_names
from tests import world
from tests.shards.search.open_shards import open_shard
from tests.world import Company, company

NAMES = st.lists(world.names, min_size=1, max_size=15)


def companies_with_names(noms: list[str]) -> list[Company]:
    """A company of each name."""
    return [company("EE", str(number), nom) for number, nom in enumerate(noms)]


@given(NAMES, st.lists(world.names, max_size=3))
def test_the_folded_names_of_rows_are_assembled_from_words(
    noms: list[str], former_names: list[str]
) -> None:
    renamed_company = company("EE", "z", "Ä", noms_anterieurs=former_names)
    with open_shard([*companies_with_names(noms), renamed_company]) as (shard, rows):
        row_numbers = np.arange(len(rows), dtype=np.uint32)[::-1].copy()

        folded = folded_names(shard.words, row_numbers)

    assert [names[0] for names in folded] == [
        fold(entry["nom"]).encode() for entry in reversed(rows)
    ]
    assert [name for names in folded for name in names[1:]] == [
        fold(name).encode() for name in former_names if fold(name)
    ]
