"""The front page: what there is, by country and activity, examples of searches, lists of companies.

It depends on the generation and the language alone and is the same for every visitor, so nothing is counted and its
lists are made once.
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

_LISTED: Final = 5
_EMPLOYER: Final = 50  # people; in a list of the largest employers fewer would be a joke
# Searches that show several filters at once, and their words.
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
    """A search that shows what can be asked, and what it finds."""

    fr: str
    en: str
    href: str
    total: int


class SectionBar(NamedTuple):
    """A section of NACE: its companies, the percent of the largest one, the search of its sectors."""

    label: str
    number: int
    width: float
    href: str


class CompanyLists(NamedTuple):
    """What is the same for every visitor until the next generation or the next day."""

    examples: Sequence[ExampleSearch]
    largest: Sequence[Mapping[str, Any]]
    employers: Sequence[Mapping[str, Any]]
    youngest: Sequence[Mapping[str, Any]]
    changed: Sequence[Mapping[str, Any]]


async def home(request: PageRequest) -> Response:
    """The front page.

    Raises:
        ApiError: 429, 503.
    """
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        reference, day = generation.reference, int(f"{request.now:%Y%m%d}")
        lists = generation.peek(("home", day))
        if lists is None:
            made = await generation.in_thread(
                EXPENSIVE_MICROSECONDS, lambda: _lists(generation, day)
            )
            lists = generation.get_or_make(("home", day), lambda: made)
        counts = {one.iso2: reference.societes(one.iso2) for one in reference.pays}
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
            examples=[(request.t(one.fr, one.en), one.href, one.total) for one in lists.examples],
            fields=formatting.field_names(request),
        )


def _sections(request: PageRequest, generation: OpenGeneration) -> Sequence[SectionBar]:
    """The sections with companies, the largest first."""
    reference = generation.reference
    numbers: dict[str | None, int] = {}
    for cells in reference.counts.values():
        for cell in cells:
            numbers[cell.secteur] = numbers.get(cell.secteur, 0) + cell.n
    grouped: dict[str, list[Any]] = {}
    for sector in reference.secteurs:
        grouped.setdefault(sector.grand_secteur, []).append(sector)
    sums = {
        section: sum(numbers.get(sector.code, 0) for sector in own)
        for section, own in grouped.items()
    }
    most = max(1, *sums.values())
    english = seed_tables.sections_in_english()
    return [
        SectionBar(
            formatting.set_in_type(request.t(section, english.get(section, section))),
            number,
            round(max(0.6, 100 * number / most), 1),
            f"/?{query_string([('secteur', '|'.join(sector.slug for sector in grouped[section]))])}",
        )
        for section, number in sorted(sums.items(), key=lambda pair: -pair[1])
        if number
    ]


def _lists(generation: OpenGeneration, day: int) -> CompanyLists:
    """The lists, of the countries whose shards are whole."""
    base = generation.shards
    pays = tuple(base) if base.missing else ()
    examples = [_example(generation, pairs, fr, en) for pairs, fr, en in _EXAMPLES]
    return CompanyLists(
        [one for one in examples if one and one.total],
        _first_companies(generation, Query(pays, tri="ca_desc", avec_ca=True)),
        _first_companies(
            generation, Query(pays, tri="effectif_desc", ranges=(Range("effectif", _EMPLOYER),))
        ),
        # A register may hold a date that is still to come.
        _first_companies(
            generation, Query(pays, tri="recent", ranges=(Range("creation", 1, day),))
        ),
        _recent_changes(generation),
    )


def _example(generation: OpenGeneration, pairs: Pairs, fr: str, en: str) -> ExampleSearch | None:
    try:
        query = generation.search(pairs).query
    except ApiError:  # a generation without this country or sector
        return None
    if generation.shards.missing.intersection(query.pays or generation.shards.missing):
        return None
    found = search(generation.shards, query, offset=0, limit=0)
    return ExampleSearch(fr, en, f"/?{query_string(pairs)}", found.total)


def _first_companies(generation: OpenGeneration, query: Query) -> Sequence[Mapping[str, Any]]:
    rows = search(generation.shards, query, offset=0, limit=_LISTED).rows
    return record.companies(records(generation.shards, rows, coordonnees=False))


def _recent_changes(generation: OpenGeneration) -> Sequence[Mapping[str, Any]]:
    """Companies that the step to this generation changed, of as many countries as there are, with the fields."""
    steps = [
        step
        for known in generation.steps.values()
        for step in known
        if step.after == generation.id and not step.backwards
    ]
    changes = []
    for step in steps[:1]:
        countries = [iso2 for iso2, counts in step.counts.items() if counts.modifiees]
        for iso2 in countries[:_LISTED]:
            share = -(-_LISTED // min(_LISTED, len(countries)))
            try:
                entries = change_file.of_step(step, iso2).entries(CHANGED, 0, share)
            except (ShardError, FileNotFoundError):
                continue  # the step was removed meanwhile, or is damaged: the page does without
            changes += [orjson.loads(entry) for entry in entries]
    return [_company(generation, one) for one in changes[:_LISTED]]


def _company(generation: OpenGeneration, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    shard = generation.shards[entry["iso2"]]
    row = shard.find(entry["id"])
    nom = entry["id"] if row is None else shard.company(row)["nom"]
    return {**entry, "nom": nom}
