"""The front page: companies by country and by activity, examples of searches, lists of companies.

The lists depend only on the generation and the day, so they are made once and shared by all visitors. The page does not
count as a call.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from serve.access.call import Response
from serve.contract import seed_tables
from serve.contract.errors import ApiError
from serve.generation.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from serve.request.reader import Pairs
from serve.surfaces.site import charts, formatting
from serve.surfaces.site.page_request import PageRequest
from serve.surfaces.site.render import page
from serve.surfaces.site.search_form import query_string
from shards.changes import change_file
from shards.changes.change_file import CHANGED
from shards.codec import record
from shards.errors import ShardError
from shards.query import Query, Range
from shards.search.search import records, search

_LISTED: Final = 5  # companies in each list
_LARGE_HEADCOUNT: Final = 50  # the smallest headcount in the list of large employers
# Searches that use several filters, with their French and English labels.
_EXAMPLES: Final[Sequence[tuple[Pairs, str, str]]] = (
    ((("pays", "FR"), ("secteur", "restauration"), ("ca_min", "1000000")),
     "Restaurants en France de plus d’1 M€", "Restaurants in France over €1m"),
    ((("q", "steel"), ("pays", "UK,EE")),
     "« steel » au Royaume-Uni et en Estonie", "“steel” in the UK and Estonia"),
    ((("nace", "62"), ("tri", "recent")),
     "Les plus jeunes du logiciel", "Youngest software companies"),
    ((("effectif_min", "250"), ("etat", "procedure")),
     "En procédure, 250 salariés et plus", "Insolvent, 250 people and more"),
)  # fmt: skip


class ExampleSearch(NamedTuple):
    """An example of a search, and its total."""

    fr: str
    en: str
    href: str
    total: int


class SectionBar(NamedTuple):
    """A section of NACE, with its bar on the front page.

    Attributes:
        number: the number of its companies.
        width: percent of the largest section.
        href: the search for its sectors.
    """

    label: str
    number: int
    width: float
    href: str


class CompanyLists(NamedTuple):
    """The examples and lists of one generation and one day, the same for all visitors."""

    examples: Sequence[ExampleSearch]
    largest: Sequence[Mapping[str, Any]]
    employers: Sequence[Mapping[str, Any]]
    youngest: Sequence[Mapping[str, Any]]
    changed: Sequence[Mapping[str, Any]]


async def home(request: PageRequest) -> Response:
    """The response with the front page.

    Raises:
        ApiError: 429, 503.
    """
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        reference, day = generation.reference, int(f"{request.now:%Y%m%d}")
        # The lists are made in a thread, at the first request of the day, and remembered by the generation.
        lists = generation.peek(("home", day))
        if lists is None:
            new_lists = await generation.run(
                EXPENSIVE_MICROSECONDS, lambda: _lists(generation, day)
            )
            lists = generation.get_or_make(("home", day), lambda: new_lists)
        counts = {country.iso2: reference.societes(country.iso2) for country in reference.pays}
        tiles = charts.tiles(counts)
        return page(
            request,
            "home.html",
            total=reference.total,
            registers=sum(1 for number in counts.values() if number),
            names=formatting.labels(request, reference),
            tiles=tiles,
            map_size=(charts.MAP_WIDTH, charts.map_height(tiles)),
            sections=_sections(request, generation),
            lists=lists,
            examples=[
                (request.t(example.fr, example.en), example.href, example.total)
                for example in lists.examples
            ],
            fields=formatting.field_names(request),
        )


def _sections(request: PageRequest, generation: OpenGeneration) -> Sequence[SectionBar]:
    """The bars of the sections of NACE (groups of sectors) that have companies, the largest first."""
    reference = generation.reference
    numbers: dict[str | None, int] = {}
    for cells in reference.counts.values():
        for cell in cells:
            numbers[cell.secteur] = numbers.get(cell.secteur, 0) + cell.n
    grouped: dict[str, list[Any]] = {}
    for sector in reference.secteurs:
        grouped.setdefault(sector.grand_secteur, []).append(sector)
    sums = {
        section: sum(numbers.get(sector.code, 0) for sector in sectors)
        for section, sectors in grouped.items()
    }
    most = max(1, *sums.values())
    english = seed_tables.sections_in_english()
    return [
        SectionBar(
            formatting.set_in_type(request.t(section, english.get(section, section))),
            number,
            round(max(0.6, 100 * number / most), 1),  # a thinner bar would be invisible
            f"/?{query_string([('secteur', '|'.join(sector.slug for sector in grouped[section]))])}",
        )
        for section, number in sorted(sums.items(), key=lambda pair: -pair[1])
        if number
    ]


def _lists(generation: OpenGeneration, day: int) -> CompanyLists:
    """The examples and lists of companies, from the countries whose shards are not damaged.

    `day` (yyyymmdd) is today, after which no company counts as newly created.
    """
    base = generation.shards
    # Without `pays`, a search covers all countries, and fails if one of their shards is damaged.
    pays = tuple(base) if base.missing else ()
    examples = [_example(generation, pairs, fr, en) for pairs, fr, en in _EXAMPLES]
    return CompanyLists(
        [example for example in examples if example and example.total],
        _first_companies(generation, Query(pays, tri="ca_desc", avec_ca=True)),
        _first_companies(
            generation,
            Query(pays, tri="effectif_desc", ranges=(Range("effectif", _LARGE_HEADCOUNT),)),
        ),
        # Registers can contain dates in the future, so the range ends at `day`.
        _first_companies(
            generation, Query(pays, tri="recent", ranges=(Range("creation", 1, day),))
        ),
        _recent_changes(generation),
    )


def _example(generation: OpenGeneration, pairs: Pairs, fr: str, en: str) -> ExampleSearch | None:
    """An example with its total; None if a country or sector is not in the generation, or a shard is damaged."""
    try:
        query = generation.search(pairs).query
    except ApiError:  # the generation does not have this country or sector
        return None
    # A search without `pays` covers all countries, so it fails if any shard is damaged.
    if generation.shards.missing.intersection(query.pays or generation.shards.missing):
        return None
    result = search(generation.shards, query, offset=0, limit=0)
    return ExampleSearch(fr, en, f"/?{query_string(pairs)}", result.total)


def _first_companies(generation: OpenGeneration, query: Query) -> Sequence[Mapping[str, Any]]:
    """The first companies of a search, without contact fields."""
    rows = search(generation.shards, query, offset=0, limit=_LISTED).rows
    return record.companies(records(generation.shards, rows, coordonnees=False))


def _recent_changes(generation: OpenGeneration) -> Sequence[Mapping[str, Any]]:
    """Companies changed since the previous generation, with the changed fields, from up to 5 countries."""
    steps = [
        step
        for steps in generation.steps.values()
        for step in steps
        if step.after == generation.id and not step.backwards
    ]
    changes = []
    for step in steps[:1]:
        countries = [iso2 for iso2, counts in step.counts.items() if counts.modifiees]
        for iso2 in countries[:_LISTED]:
            # The entries are divided evenly among at most 5 countries, rounded up.
            per_country = -(-_LISTED // min(_LISTED, len(countries)))
            try:
                entries = change_file.open_step(step, iso2).entries(CHANGED, 0, per_country)
            except (ShardError, FileNotFoundError):
                continue  # the step was removed meanwhile, or is damaged, so the country is skipped
            changes += [orjson.loads(entry) for entry in entries]
    return [_with_name(generation, entry) for entry in changes[:_LISTED]]


def _with_name(generation: OpenGeneration, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry with the name of its company, or with the identifier if the generation lacks the company."""
    shard = generation.shards[entry["iso2"]]
    row = shard.find(entry["id"])
    nom = entry["id"] if row is None else shard.company(row)["nom"]
    return {**entry, "nom": nom}
