"""GET /api/v1/societes: the search (§4.4)."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote_plus

from serve.access import rights
from serve.access.envelope import SearchResult
from serve.access.etag import etag
from serve.access.result import DATA_VERSION, CallResult, PreparedCall, Request
from serve.access.rights import Window
from serve.data.open_generation import OpenGeneration
from serve.request.memo import remembering
from shards.search.merge import MergedRow
from shards.search.reader import Shard
from shards.search.search import prepare

# A response depends on the caller's plan, so no shared cache keeps it. The caller's own cache may, and
# checks each time that the generation is still the same (G8).
PRIVATE: Final = {"Cache-Control": "private, no-cache", "Vary": "Authorization"}

# A longer Link header is left out: proxies refuse responses with larger headers, and the client knows
# its own query.
_LONGEST_LINK: Final = 4_000

_quoted: Final = remembering(quote_plus)


def societes(request: Request, generation: OpenGeneration) -> PreparedCall[SearchResult]:
    """A page of companies, for the caller's plan.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    search = generation.search(request.pairs)
    generation = generation.of(search.version)
    caller = request.caller
    plan = caller.plan
    window = rights.window(plan, search.limit, search.offset)
    tag = etag(generation.id, plan.slug, caller.souscrit, request.offer, search.query, window)
    headers = {"ETag": tag, **PRIVATE, DATA_VERSION: generation.id}

    # Quoted annotations of inner functions are not evaluated at each request.
    async def run() -> "CallResult[SearchResult]":
        # Past the cap only the total matters, however large the offset.
        first = window.offset if window.limit else 0
        prepared = prepare(generation.shards, search.query, first + window.limit)
        page = await generation.aside(
            prepared.cost, lambda: prepared.page(offset=first, limit=window.limit)
        )
        rows = _records(generation.shards, page.rows, coordonnees=plan.coordonnees)
        empty = [iso2 for iso2 in search.query.pays if not generation.shards[iso2].rows]
        result = SearchResult(caller, request.offer, window, page.total, rows, empty)
        return CallResult(200, result, headers | _link(request, window, page.total))

    return PreparedCall(run, tag, headers)


def _records(
    shards: Mapping[str, Shard], rows: Sequence[MergedRow], *, coordonnees: bool
) -> Sequence[bytes]:
    """The companies of `rows` as JSON, in that order; those of a country are read together."""
    if len({iso2 for iso2, _ in rows}) == 1:
        return shards[rows[0].iso2].records([row for _, row in rows], coordonnees=coordonnees)
    of_country: dict[str, list[int]] = {}
    for iso2, row in rows:
        of_country.setdefault(iso2, []).append(row)
    records = {
        iso2: iter(shards[iso2].records(numbers, coordonnees=coordonnees))
        for iso2, numbers in of_country.items()
    }
    return [next(records[iso2]) for iso2, _ in rows]


def _link(request: Request, window: Window, total: int) -> dict[str, str]:
    """`Link: <…>; rel="next"` (RFC 8288), only while another row can be reached (B20)."""
    after = rights.next_offset(request.caller.plan, window, total)
    if after is None:
        return {}
    kept = [
        f"{_quoted(name)}={_quoted(value)}" for name, value in request.pairs if name != "offset"
    ]
    target = f"{request.base_url}{request.path}?{'&'.join([*kept, f'offset={after}'])}"
    return {"Link": f'<{target}>; rel="next"'} if len(target) <= _LONGEST_LINK else {}
