"""GET /api/v1/societes: the search (§4.4)."""

from typing import Final
from urllib.parse import urlencode

from serve import envelope, rights
from serve.answer import Answer, Ask, Work
from serve.edition import Edition
from serve.etag import etag
from serve.rights import Window
from shards.search import search

# An answer depends on the caller's plan, so no shared cache keeps it; the caller's own may, and
# asks each time whether the generation is still the same (G8).
PRIVATE: Final = {"Cache-Control": "private, no-cache", "Vary": "Authorization"}

# A Link header longer than this is left out: proxies refuse answers with larger headers, and the
# client knows its own query anyway.
_LONGEST_LINK: Final = 4_000


def societes(ask: Ask, edition: Edition) -> Work:
    """A page of companies, in the envelope of the caller's plan."""
    asked = edition.search(ask.pairs)
    caller = ask.caller
    plan = caller.plan
    window = rights.window(plan, asked.limit, asked.offset)
    tag = etag(edition.id, plan.slug, caller.souscrit, ask.offer, asked.query, window)
    headers = {"ETag": tag, **PRIVATE}

    def run() -> Answer:
        # Past the cap only the total is of interest, however large the offset.
        first = window.offset if window.limit else 0
        shards = edition.shards
        page = search(shards, asked.query, offset=first, limit=window.limit)
        rows = [shards[row.iso2].record(row.row, coordonnees=plan.coordonnees) for row in page.rows]
        body = envelope.search(caller, ask.offer, window, page.total, rows)
        return Answer(200, body, headers | _link(ask, window, page.total))

    return Work(run, tag, headers)


def _link(ask: Ask, window: Window, total: int) -> dict[str, str]:
    """`Link: <…>; rel="next"` (RFC 8288), only while another row can be reached (B20)."""
    after = rights.next_offset(ask.caller.plan, window, total)
    if after is None:
        return {}
    kept = [(name, value) for name, value in ask.pairs if name != "offset"]
    target = f"{ask.base_url}{ask.path}?{urlencode([*kept, ('offset', str(after))])}"
    return {"Link": f'<{target}>; rel="next"'} if len(target) <= _LONGEST_LINK else {}
