"""The index of words, compared with the folded names themselves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shards.codec.folding import fold
from shards.reader.lookups import folded_names
from tests import world
from tests.shards.search.open_shards import open_shard
from tests.world import Company, company

NAMES = st.lists(world.names, min_size=1, max_size=15)


def named(noms: list[str]) -> list[Company]:
    return [company("EE", str(number), nom) for number, nom in enumerate(noms)]


@given(NAMES, st.lists(world.names, max_size=3))
def test_the_folded_names_of_any_rows_are_put_together_from_words(
    noms: list[str], former: list[str]
) -> None:
    renamed = company("EE", "z", "Ä", noms_anterieurs=former)
    with open_shard([*named(noms), renamed]) as (shard, rows):
        chosen = np.arange(len(rows), dtype=np.uint32)[::-1].copy()

        found = folded_names(shard.words, chosen)

    assert [names[0] for names in found] == [fold(one["nom"]).encode() for one in reversed(rows)]
    assert [name for names in found for name in names[1:]] == [
        fold(name).encode() for name in former if fold(name)
    ]
