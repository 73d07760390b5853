"""GET /api/v1/societes: the search (§4.4)."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote_plus

from serve.access import envelope, rights
from serve.access.etag import etag
from serve.access.result import DATA_VERSION, PreparedCall, Request, Response
from serve.access.rights import Window
from serve.data.edition import DEAR_MICROSECONDS, OpenGeneration
from serve.request.memo import remembering
from shards.search.reader import Shard
from shards.search.result_page import MergedRow
from shards.search.search import search, search_within

# An answer depends on the caller's plan, so no shared cache keeps it; the caller's own may, and
# asks each time whether the generation is still the same (G8).
PRIVATE: Final = {"Cache-Control": "private, no-cache", "Vary": "Authorization"}

# A Link header longer than this is left out: proxies refuse answers with larger headers, and the
# client knows its own query anyway.
_LONGEST_LINK: Final = 4_000

_quoted: Final = remembering(quote_plus)


def societes(ask: Request, edition: OpenGeneration) -> PreparedCall:
    """A page of companies, in the envelope of the caller's plan."""
    asked = edition.search(ask.pairs)
    edition = edition.of(asked.version)
    caller = ask.caller
    plan = caller.plan
    window = rights.window(plan, asked.limit, asked.offset)
    tag = etag(edition.id, plan.slug, caller.souscrit, ask.offer, asked.query, window)
    headers = {"ETag": tag, **PRIVATE, DATA_VERSION: edition.id}

    async def run() -> Response:
        # Past the cap only the total is of interest, however large the offset.
        first = window.offset if window.limit else 0
        base, query, limit = edition.shards, asked.query, window.limit
        page = search_within(base, query, DEAR_MICROSECONDS, offset=first, limit=limit)
        if page is None:
            page = await edition.aside(
                DEAR_MICROSECONDS, lambda: search(base, query, offset=first, limit=limit)
            )
        rows = _records(edition.shards, page.rows, coordonnees=plan.coordonnees)
        body = envelope.search(caller, ask.offer, window, page.total, rows)
        return Response(200, body, headers | _link(ask, window, page.total))

    return PreparedCall(run, tag, headers)


def _records(
    shards: Mapping[str, Shard], rows: Sequence[MergedRow], *, coordonnees: bool
) -> Sequence[bytes]:
    """The companies of `rows` as JSON, in that order; those of a country are read at once."""
    if len({iso2 for iso2, _ in rows}) == 1:
        return shards[rows[0].iso2].records([row for _, row in rows], coordonnees=coordonnees)
    wanted: dict[str, list[int]] = {}
    for iso2, row in rows:
        wanted.setdefault(iso2, []).append(row)
    read = {
        iso2: iter(shards[iso2].records(those, coordonnees=coordonnees))
        for iso2, those in wanted.items()
    }
    return [next(read[iso2]) for iso2, _ in rows]


def _link(ask: Request, window: Window, total: int) -> dict[str, str]:
    """`Link: <…>; rel="next"` (RFC 8288), only while another row can be reached (B20)."""
    after = rights.next_offset(ask.caller.plan, window, total)
    if after is None:
        return {}
    kept = [f"{_quoted(name)}={_quoted(value)}" for name, value in ask.pairs if name != "offset"]
    target = f"{ask.base_url}{ask.path}?{'&'.join([*kept, f'offset={after}'])}"
    return {"Link": f'<{target}>; rel="next"'} if len(target) <= _LONGEST_LINK else {}
