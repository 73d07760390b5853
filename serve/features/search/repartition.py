"""GET /api/v1/repartition: the companies of a search, counted by one or more dimensions (extension X3).

Counts are exact and depend on no plan, so there is nothing to withhold.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from typing import Final

from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.contract import notation, seed_tables
from serve.contract.answers import activities_of
from serve.contract.company_answers import Effectifs, Repartition
from serve.contract.declaration import ABSENT
from serve.contract.parameters import FILTERS, SCOPE, VERSION, Parameter
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
    parts,
)
from shards.search.search import UNLIMITED

PAR: Final = Parameter(
    "par", "secteur,etat", "choices", enum=tuple(DIMENSIONS), separator=",", required=True
)
LIMITE: Final = Parameter("limite", 20, "integer", default=20, minimum=1, maximum=200)
PARAMETERS: Final = (PAR, LIMITE, *SCOPE, *FILTERS, VERSION)
# The dimensions with more values than an answer has, of which `limite` are shown.
LIMITED: Final = ("nace", "forme", "ville")
_UNKNOWN: Final = ("Non renseigné", "Not known")

# A value as the filter of the dimension takes it, and its French and English labels.
Named = tuple[str, str, str]


def repartition(request: Request, generation: OpenGeneration) -> PreparedCall[Repartition]:
    """The counts of a search.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    generation, asked = generation.read(request.pairs, PARAMETERS)
    tag = etag(generation.id, "repartition", asked)
    headers = private_headers(tag, generation.id)

    async def run() -> "Result[Repartition]":
        base, reference = generation.shards, generation.reference
        query, unknown = await company_ids.resolved_query(base, asked)
        dimensions = asked.value(PAR)
        counts_at_once = distributions(base, query, dimensions, EXPENSIVE_MICROSECONDS)
        total, counted = counts_at_once or await _of_threads(generation, query, dimensions)
        shown, others = {}, {}
        for name, distribution in counted.items():
            limit = asked.value(LIMITE) if name in LIMITED else None
            shown[name] = _entries(distribution, name, reference, limit)
            if limit is not None:
                others[name] = total - sum(entry.n for entry in shown[name])
        content = Repartition(
            total=total,
            repartitions=shown,
            autres=others,
            pays_sans_donnees=[iso2 for iso2 in query.pays if not base[iso2].rows] or ABSENT,
            ids_inconnus=ABSENT if unknown is None else unknown,
            activites_comprises=activities_of(query.activites) or ABSENT,
        )
        return Result(200, content, headers)

    return PreparedCall(run, tag, headers)


async def _of_threads(
    generation: OpenGeneration, query: Query, dimensions: Collection[str]
) -> tuple[int, Mapping[str, Distribution]]:
    """`distributions`, half of the companies in each thread."""
    base = generation.shards
    halves = await asyncio.gather(
        *(
            generation.in_thread(
                EXPENSIVE_MICROSECONDS, partial(distributions, base, one, dimensions, UNLIMITED)
            )
            for one in parts(base, query)
        )
    )
    counted_halves = [one for one in halves if one is not None]  # nothing is over this budget
    by_name = {
        name: join_distributions([counted[name] for _, counted in counted_halves])
        for name in dimensions
    }
    return sum(total for total, _ in counted_halves), by_name


def _entries(
    distribution: Distribution, dimension: str, reference: Reference, limit: int | None
) -> list[Effectifs]:
    """The values by count, descending, then as texts; null is the last."""
    named = _namer(dimension, reference)
    counts: Counter[str] = Counter()
    labels: dict[str, Named] = {}
    for value, number in distribution.top_values(limit):
        name = named(value)
        counts[name[0]] += number
        labels.setdefault(name[0], name)
    ranked = counts.most_common()
    if limit is None:
        ranked.sort(key=lambda one: (-one[1], one[0]))
    entries = [_entry(*labels[valeur], number) for valeur, number in ranked]
    if distribution.null:
        entries.append(_entry(None, *_UNKNOWN, distribution.null))
    return entries


def _entry(valeur: str | None, libelle: str, libelle_en: str, number: int) -> Effectifs:
    return Effectifs(valeur=valeur, libelle=libelle, libelle_en=libelle_en, n=number)


def _namer(dimension: str, reference: Reference) -> Callable[[str], Named]:
    """Tells a value of a distribution as its filter takes it, with labels."""
    if dimension == "pays":
        countries = {one.iso2: (one.iso2, one.nom_fr, one.nom_en) for one in reference.pays}
        return countries.__getitem__
    if dimension == "secteur":
        sectors = {one.code: (one.slug, one.secteur, one.secteur_en) for one in reference.secteurs}
        return sectors.__getitem__
    if dimension == "sous_secteur":
        groups = {one.code: one.sous_secteur for one in reference.sous_secteurs}
        return lambda code: (groups[code], groups[code], seed_tables.activity_labels(code)[1])
    return _NAMERS.get(dimension, _same_names)


def _same_names(value: str) -> Named:
    return value, value, value


def _town(ville: str) -> Named:
    return values.escape_item(ville), ville, ville


def _state(etat: str) -> Named:
    fr, en = (seed_tables.label("etat", "", etat, lang) or etat for lang in ("fr", "en"))
    return etat, fr, en


@cache
def _turnovers() -> Mapping[str, Named]:
    """The bands of turnover with their labels."""
    labels_by_band = {}
    bounds = [None, *bands.TURNOVERS, None]
    for name, low, high in zip(bands.turnover_names(), bounds, bounds[1:], strict=False):
        if low is None:
            labels = (f"Moins de {high} €", f"Under €{high}")
        elif high is None:
            labels = (f"{_french(low)} € et plus", f"€{_english(low)} and more")
        else:
            labels = (
                f"De {_french(low)} à moins de {_french(high)} €",
                f"€{_english(low)} to under €{_english(high)}",
            )
        labels_by_band[name] = (name, *labels)
    return labels_by_band


_french: Final = partial(notation.whole_number, lang="fr")
_english: Final = partial(notation.whole_number, lang="en")


def _headcount(name: str) -> Named:
    """A band of headcount with its labels."""
    if name == "<0":
        return name, "Moins de 0", "Under 0"
    if name.endswith("+"):
        least = int(name[:-1])
        return name, notation.at_least(least, "fr"), notation.at_least(least, "en")
    return name, name.replace("-", " à "), name.replace("-", " to ")


_NAMERS: Final[Mapping[str, Callable[[str], Named]]] = {
    "nace": lambda code: (code, *seed_tables.activity_labels(code)),
    "forme": lambda forme: (values.escape_item(forme), *seed_tables.form_labels(forme)),
    "etat": _state,
    "ville": _town,
    "tranche_ca": lambda name: _turnovers()[name],
    "tranche_effectif": _headcount,
}
