"""GET /api/v1/societes: the search (§4.4)."""

from typing import Final
from urllib.parse import urlencode

from quota.plans import Plan
from serve import envelope, params, rights
from serve.answer import Answer, Ask, not_modified
from serve.edition import Edition
from serve.etag import etag, matches
from serve.rights import Window
from shards.search import search

# An answer depends on the caller's plan, so no shared cache keeps it; the caller's own may, and
# asks each time whether the generation is still the same (G8).
PRIVATE: Final = {"Cache-Control": "private, no-cache", "Vary": "Authorization"}

# A Link header longer than this is left out: proxies refuse answers with larger headers, and the
# client knows its own query anyway.
_LONGEST_LINK: Final = 4_000


def societes(ask: Ask, edition: Edition) -> Answer:
    """A page of companies, in the envelope of the caller's plan."""
    asked = params.search(ask.pairs, edition.names)
    plan = ask.caller.plan
    window = rights.window(plan, asked.limit, asked.offset)
    tag = etag(edition.id, plan.slug, ask.offer, asked.query, window)
    headers = {"ETag": tag, **PRIVATE, **meters(plan)}
    if matches(ask.if_none_match, tag):
        return not_modified(headers)
    # Past the cap only the total is of interest, however large the offset.
    first = window.offset if window.limit else 0
    page = search(edition.shards, asked.query, offset=first, limit=window.limit)
    rows = [
        edition.shards[row.iso2].record(row.row, coordonnees=plan.coordonnees) for row in page.rows
    ]
    body = envelope.search(plan, ask.offer, window, page.total, rows)
    return Answer(200, body, headers | _link(ask, window, page.total))


def meters(plan: Plan) -> dict[str, str]:
    """The headers of §2.2. A visitor's calls are not metered (A10); nobody else's are yet."""
    return {
        "X-Plafond-Resultats": str(plan.resultats_par_recherche),
        "X-Quota-Limit": str(plan.appels_api_par_jour),
        "X-Quota-Used": "0",
    }


def _link(ask: Ask, window: Window, total: int) -> dict[str, str]:
    """`Link: <…>; rel="next"` (RFC 8288), only while another row can be reached (B20)."""
    after = rights.next_offset(ask.caller.plan, window, total)
    if after is None:
        return {}
    kept = [(name, value) for name, value in ask.pairs if name != "offset"]
    target = f"{ask.base_url}{ask.path}?{urlencode([*kept, ('offset', str(after))])}"
    return {"Link": f'<{target}>; rel="next"'} if len(target) <= _LONGEST_LINK else {}
