"""The legal forms (`forme`) that companies of a generation have, as the filter takes them (extensions X2)."""

from shards.generations.generation_files import Generation


def legal_forms(generation: Generation) -> frozenset[str]:
    """The legal forms of all countries."""
    lists = [shard.code_texts("forme") for shard in generation.shards.values()]
    return frozenset(formes[place].decode() for formes in lists for place in range(len(formes)))
