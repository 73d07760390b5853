"""A matcher over the companies of a module."""

from collections.abc import Iterator, Mapping, Sequence

import pytest

from serve.contract import activities
from serve.contract.seed_tables import match_weights, name_tables, number_notation
from shards.matching.matcher import Matcher
from shards.reader.shard import Shard
from shards.search.search import ShardSet
from tests.world import Company, write_shard


@pytest.fixture(scope="module")
def matcher(
    companies: Mapping[str, Sequence[Company]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Matcher]:
    """A matcher over a shard of each country in the module's fixture `companies`, with the right to contacts."""
    folder, base = tmp_path_factory.mktemp("shards"), ShardSet()
    for iso2, dataset in companies.items():
        write_shard(folder / iso2, iso2, dataset)
        base[iso2] = Shard(folder / iso2)
    yield Matcher(
        base,
        name_tables(),
        match_weights(),
        number_notation(),
        activities=activities.classes,
        coordonnees=True,
    )
    for shard in base.values():
        shard.close()
