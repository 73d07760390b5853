"""/docs: guides, and a page for each route and object of /openapi.json, with a search.

Examples name this server and the data that it serves, so they can be run as they stand. A key is shown once and kept
as a digest, so the pages name the caller's keys and let the variable KEY stand for them.
"""

from dataclasses import replace
from typing import Any, Final

import orjson

from quota.ledger import account_rows
from serve.access.call import Response
from serve.access.rights import apercu
from serve.contract.errors import CODES
from serve.contract.parameters import LINES_PER_CALL, MOST_LINES, VERSION, VISITOR_LINES
from serve.contract.seed_tables import RECORD_CREDITS, analysis_credits
from serve.contract.text import Text
from serve.surfaces.docs import manual as finder
from serve.surfaces.docs.manual import guides_of, manual
from serve.surfaces.docs.operations import documents
from serve.surfaces.docs.reference import ManualReference
from serve.surfaces.docs.request_example import CodeText, RequestExample
from serve.surfaces.mcp.tool_list import tools
from serve.surfaces.site.page_request import PageRequest, WebRoute, last_value
from serve.surfaces.site.render import page


async def contents(request: PageRequest) -> Response:
    """The contents of the documentation, or what `q` finds; all of it as Markdown for who prefers that."""
    if request.markdown:
        config = request.server.config
        return documents(request.server.product, config.base_url, config.debit)["docs.md"]
    wanted = (last_value(request.pairs, "q") or "").strip()
    hits = finder.find(manual(request.server.product).entries, wanted)
    return await _page(
        request, "contents", wanted=wanted, total=len(hits), hits=hits[: finder.MOST_HITS],
        headers={"Vary": "Accept, Accept-Language, Cookie"},
    )  # fmt: skip


async def guide(request: PageRequest) -> Response:
    """A guide."""
    chosen_guide = guides_of(request.server.product)[request.segments[0]]
    plans = request.server.plans
    return await _page(
        request, f"guides/{chosen_guide.slug}",
        guide=chosen_guide,
        plans=plans.values(),
        paid=[plan for plan in plans.values() if not apercu(plan)],
        debit=request.server.config.debit,
        codes=CODES,
        record_credits=RECORD_CREDITS,
        analyses=analysis_credits(),
        lines=MOST_LINES,
        lines_per_call=LINES_PER_CALL,
        visitor_lines=VISITOR_LINES,
        tools=tools(request.server.product),
    )  # fmt: skip


async def operation(request: PageRequest) -> Response:
    """A route of the API."""
    described = _reference(request).operations[request.segments[0]]
    return await _page(request, "operation", operation=described, codes=CODES)


async def described_object(request: PageRequest) -> Response:
    """An object of answers or bodies."""
    described = _reference(request).objects[request.segments[0]]
    return await _page(request, "object", described=described)


async def _page(request: PageRequest, template: str, **values: Any) -> Response:
    reference = _reference(request)
    session = request.session
    keys = await request.store.read(account_rows.keys_of, session.account.id) if session else ()
    return page(
        request, f"docs/{template}.html",
        reference=reference,
        guides=guides_of(request.server.product).values(),
        keys=[key for key in keys if key.revoked is None],
        call=lambda name, *, key=True, **query: _texts(
            request, _call(reference.operations[name].request.with_query(**query), key)
        ) if name in reference.operations else (),
        example=lambda call: _texts(request, call),
        json=_json,
        **values,
    )  # fmt: skip


def _call(call: RequestExample, key: bool) -> RequestExample:
    """The call, without its key where none is wanted."""
    return call if key else replace(call, key=False)


def _texts(request: PageRequest, call: RequestExample) -> list[CodeText]:
    """A call in each language; the generation in it is the one served, so that it is answered."""
    served = request.server.published.generation or str(VERSION.example)
    return [
        one._replace(text=one.text.replace(str(VERSION.example), served))
        for one in call.texts(request.origin)
    ]


def _reference(request: PageRequest) -> ManualReference:
    """The reference in the visitor's language."""
    return manual(request.server.product).references["fr" if request.lang == "fr" else "en"]


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


PAGES: Final = (
    WebRoute(
        "/docs", "docs", contents, parameters=("q",), kept=True,
        menu=Text("API", "API"), below="/docs/", place=50,
    ),
    WebRoute(
        "/docs/guides/{slug}", "docs-guide", guide, kept=True, example="/docs/guides/demarrage",
        has=lambda product, slug: slug in guides_of(product),
    ),
    WebRoute(
        "/docs/routes/{id}", "docs-route", operation, kept=True, example="/docs/routes/readDescription",
        has=lambda product, name: name in manual(product).references["en"].operations,
    ),
    WebRoute(
        "/docs/objets/{name}", "docs-objet", described_object, kept=True, example="/docs/objets/Societe",
        has=lambda product, name: name in manual(product).references["en"].objects,
    ),
)  # fmt: skip
