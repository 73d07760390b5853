"""GET /api/v1/repartition: the companies of a search, counted by one or more dimensions (extension X3).

Counts are exact and the same for every plan.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from typing import Final

from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.contract import notation, seed_tables
from serve.contract.answers import activities_of
from serve.contract.declaration import ABSENT
from serve.contract.parameters import FILTERS, SCOPE, VERSION, Parameter
from serve.features.search.answers import Effectifs, Repartition
from serve.generation import company_ids
from serve.generation.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from serve.request import values
from shards.codec import bands
from shards.generations.reference import Reference
from shards.query import Query
from shards.search.distribution import (
    DIMENSIONS,
    Distribution,
    distributions,
    join_distributions,
    split_search,
)
from shards.search.search import UNLIMITED

# The dimensions to count, and the most values of each dimension in LIMITED.
PAR: Final = Parameter(
    "par", "secteur,etat", "choices", enum=tuple(DIMENSIONS), separator=",", required=True
)
LIMITE: Final = Parameter("limite", 20, "integer", default=20, minimum=1, maximum=200)
PARAMETERS: Final = (PAR, LIMITE, *SCOPE, *FILTERS, VERSION)
# Dimensions with too many values for an answer: only the `limite` largest are shown.
LIMITED: Final = ("nace", "forme", "ville")
# The French and English labels for companies without a value.
_UNKNOWN: Final = ("Non renseigné", "Not known")

# A value in the spelling of the filter, and its French and English labels.
LabelledValue = tuple[str, str, str]


def repartition(request: Request, generation: OpenGeneration) -> PreparedCall[Repartition]:
    """The companies of a search, counted by each dimension of `par`.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    generation, parsed = generation.read(request.pairs, PARAMETERS)
    tag = etag(generation.id, "repartition", parsed)
    headers = private_headers(tag, generation.id)

    async def run() -> "Result[Repartition]":
        """Count the companies, and make the answer."""
        base, reference = generation.shards, generation.reference
        query, unknown = await company_ids.resolve_query(base, parsed)
        dimensions = parsed.value(PAR)
        cheap_counts = distributions(base, query, dimensions, EXPENSIVE_MICROSECONDS)
        total, counts_by_dimension = cheap_counts or await _count_in_threads(
            generation, query, dimensions
        )
        entries, others = {}, {}
        for name, distribution in counts_by_dimension.items():
            limit = parsed.value(LIMITE) if name in LIMITED else None
            entries[name] = _entries(distribution, name, reference, limit)
            if limit is not None:
                others[name] = total - sum(entry.n for entry in entries[name])
        content = Repartition(
            total=total,
            repartitions=entries,
            autres=others,
            pays_sans_donnees=[iso2 for iso2 in query.pays if not base[iso2].rows] or ABSENT,
            ids_inconnus=ABSENT if unknown is None else unknown,
            activites_comprises=activities_of(query.activites) or ABSENT,
        )
        return Result(200, content, headers)

    return PreparedCall(run, tag, headers)


async def _count_in_threads(
    generation: OpenGeneration, query: Query, dimensions: Collection[str]
) -> tuple[int, Mapping[str, Distribution]]:
    """The total, and the counts by value of each dimension; each of two threads counts half of the companies."""
    base = generation.shards
    halves = await asyncio.gather(
        *(
            generation.run(
                EXPENSIVE_MICROSECONDS, partial(distributions, base, half, dimensions, UNLIMITED)
            )
            for half in split_search(base, query)
        )
    )
    counted_halves = [half for half in halves if half is not None]  # no cost exceeds UNLIMITED
    by_name = {
        name: join_distributions([counted[name] for _, counted in counted_halves])
        for name in dimensions
    }
    return sum(total for total, _ in counted_halves), by_name


def _entries(
    distribution: Distribution, dimension: str, reference: Reference, limit: int | None
) -> list[Effectifs]:
    """The values of a dimension by descending count; the companies without a value are last.

    Values with the same spelling in the filter are one entry.
    """
    label_value = _labeller(dimension, reference)
    counts: Counter[str] = Counter()
    labels: dict[str, LabelledValue] = {}
    for value, number in distribution.top_values(limit):
        labelled = label_value(value)
        counts[labelled[0]] += number
        labels.setdefault(labelled[0], labelled)
    ranked = counts.most_common()
    # With a limit, ties stay in the order of `top_values`.
    if limit is None:
        ranked.sort(key=lambda pair: (-pair[1], pair[0]))
    entries = [_entry(*labels[valeur], number) for valeur, number in ranked]
    if distribution.null:
        entries.append(_entry(None, *_UNKNOWN, distribution.null))
    return entries


def _entry(valeur: str | None, libelle: str, libelle_en: str, number: int) -> Effectifs:
    """A value and its count as an object of the answer."""
    return Effectifs(valeur=valeur, libelle=libelle, libelle_en=libelle_en, n=number)


def _labeller(dimension: str, reference: Reference) -> Callable[[str], LabelledValue]:
    """The function that labels the values of a dimension: it returns the value, its French and its English label."""
    if dimension == "pays":
        countries = {
            country.iso2: (country.iso2, country.nom_fr, country.nom_en)
            for country in reference.pays
        }
        return countries.__getitem__
    if dimension == "secteur":
        sectors = {
            sector.code: (sector.slug, sector.secteur, sector.secteur_en)
            for sector in reference.secteurs
        }
        return sectors.__getitem__
    if dimension == "sous_secteur":
        groups = {group.code: group.sous_secteur for group in reference.sous_secteurs}
        return lambda code: (groups[code], groups[code], seed_tables.activity_labels(code)[1])
    return _LABELLERS.get(dimension, _same_labels)


def _same_labels(value: str) -> LabelledValue:
    """A value whose labels are the value itself."""
    return value, value, value


def _town(ville: str) -> LabelledValue:
    """A town, escaped for the filter `ville`, with its name as label."""
    return values.escape_item(ville), ville, ville


def _state(etat: str) -> LabelledValue:
    """A state such as `active`, with its labels."""
    fr, en = (seed_tables.label("etat", "", etat, lang) or etat for lang in ("fr", "en"))
    return etat, fr, en


@cache
def _turnover_bands() -> Mapping[str, LabelledValue]:
    """Each band of turnover by name, with its labels in French and English."""
    labels_by_band = {}
    bounds = [None, *bands.TURNOVERS, None]
    for name, low, high in zip(bands.turnover_names(), bounds, bounds[1:], strict=False):
        if low is None:
            labels = (f"Moins de {high} €", f"Under €{high}")
        elif high is None:
            labels = (f"{_french_number(low)} € et plus", f"€{_english_number(low)} and more")
        else:
            labels = (
                f"De {_french_number(low)} à moins de {_french_number(high)} €",
                f"€{_english_number(low)} to under €{_english_number(high)}",
            )
        labels_by_band[name] = (name, *labels)
    return labels_by_band


# Whole numbers with separated thousands.
_french_number: Final = partial(notation.whole_number, lang="fr")
_english_number: Final = partial(notation.whole_number, lang="en")


def _headcount_band(name: str) -> LabelledValue:
    """A band of headcount with its labels."""
    if name == "<0":
        return name, "Moins de 0", "Under 0"
    if name.endswith("+"):
        least = int(name[:-1])
        return name, notation.open_band(least, "fr"), notation.open_band(least, "en")
    return name, name.replace("-", " à "), name.replace("-", " to ")


# The functions that label the values of a dimension, for dimensions without an entry in `_labeller`.
_LABELLERS: Final[Mapping[str, Callable[[str], LabelledValue]]] = {
    "nace": lambda code: (code, *seed_tables.activity_labels(code)),
    "forme": lambda forme: (values.escape_item(forme), *seed_tables.form_labels(forme)),
    "etat": _state,
    "ville": _town,
    "tranche_ca": lambda name: _turnover_bands()[name],
    "tranche_effectif": _headcount_band,
}
