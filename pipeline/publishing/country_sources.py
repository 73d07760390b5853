"""The sources of each country of a build: the `sources.json` of its inputs, carried into the generation.

An entry of an input folder names a table; the countries of its rows are those that were counted. A table that no entry
names, such as one's own Parquet, gives companies of no declared source.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pipeline import canonical
from pipeline.publishing.plan import BuildInput
from shards.generations.register_sources import Imports, RegisterImport


def by_country(
    inputs: Iterable[Path], build_input: BuildInput, wanted: Iterable[str], kept: Imports
) -> dict[str, list[RegisterImport]]:
    """The imports that gave rows to each of the `wanted` countries; those of the other countries are `kept`.

    Raises:
        InputError: a `sources.json` that cannot be read.
    """
    found = {iso2: list(imports) for iso2, imports in kept.items()}
    fresh: dict[str, list[RegisterImport]] = {iso2: [] for iso2 in wanted}
    rows: Mapping[Path, Mapping[str, int]] = {**build_input.companies, **build_input.comptes}
    for folder in inputs:
        for table, imports in canonical.read_sources(folder).items():
            for iso2, count in rows.get(folder / table, {}).items():
                if iso2 in fresh:
                    fresh[iso2] += [replace(one, lignes=count) for one in imports]
    return {iso2: imports for iso2, imports in {**found, **fresh}.items() if imports}
