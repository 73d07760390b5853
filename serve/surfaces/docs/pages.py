"""/docs: guides, and a page for each route and object of /openapi.json, with a search.

Examples have the address and the generation of this server, so they can be run unchanged. A key is shown only when it
is made, and only its digest is stored, so the examples read the key from the variable KEY.
"""

from dataclasses import replace
from typing import Any, Final

from quota.ledger import account_rows
from serve.access.call import Response
from serve.access.rights import is_visitor_plan
from serve.contract.errors import CODES
from serve.contract.parameters import LINES_PER_CALL, MOST_LINES, VERSION, VISITOR_LINES
from serve.contract.seed_tables import RECORD_CREDITS, analysis_credits
from serve.contract.text import Text
from serve.surfaces.docs import manual as finder
from serve.surfaces.docs.manual import guides_of, manual
from serve.surfaces.docs.operations import documents
from serve.surfaces.docs.reference import ManualReference
from serve.surfaces.docs.request_example import CodeText, RequestExample, indented_json
from serve.surfaces.mcp.tool_list import tools
from serve.surfaces.site.page_request import PageRequest, WebRoute, last_value
from serve.surfaces.site.render import page


async def contents(request: PageRequest) -> Response:
    """The contents of the documentation, or the hits for `q`; the complete text if the client prefers Markdown."""
    if request.markdown:
        config = request.server.config
        return documents(request.server.product, config.base_url, config.debit)["docs.md"]
    query = (last_value(request.pairs, "q") or "").strip()
    hits = finder.find(manual(request.server.product).entries, query)
    return await _docs_page(
        request, "contents", wanted=query, total=len(hits), hits=hits[: finder.MOST_HITS],
        headers={"Vary": "Accept, Accept-Language, Cookie"},
    )  # fmt: skip


async def guide(request: PageRequest) -> Response:
    """The page of a guide."""
    chosen_guide = guides_of(request.server.product)[request.segments[0]]
    plans = request.server.plans
    return await _docs_page(
        request, f"guides/{chosen_guide.slug}",
        guide=chosen_guide,
        plans=plans.values(),
        paid=[plan for plan in plans.values() if not is_visitor_plan(plan)],
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
    """The page of an operation of the API."""
    described = _reference(request).operations[request.segments[0]]
    return await _docs_page(request, "operation", operation=described, codes=CODES)


async def described_object(request: PageRequest) -> Response:
    """The page of an object of answers or bodies."""
    described = _reference(request).objects[request.segments[0]]
    return await _docs_page(request, "object", described=described)


async def _docs_page(request: PageRequest, template: str, **values: Any) -> Response:
    """The page of a template in `docs/`, with the values that all pages of the documentation need."""
    reference = _reference(request)
    session = request.session
    keys = await request.store.read(account_rows.keys_of, session.account.id) if session else ()
    return page(
        request, f"docs/{template}.html",
        reference=reference,
        guides=guides_of(request.server.product).values(),
        keys=[key for key in keys if key.revoked is None],
        call=lambda name, *, key=True, **query: _programs(
            request, _with_key(reference.operations[name].request.replace_query(**query), key)
        ) if name in reference.operations else (),
        example=lambda call: _programs(request, call),
        json=indented_json,
        **values,
    )  # fmt: skip


def _with_key(call: RequestExample, key: bool) -> RequestExample:
    """The call unchanged, or without a key if `key` is false."""
    return call if key else replace(call, key=False)


def _programs(request: PageRequest, call: RequestExample) -> list[CodeText]:
    """A call as a program in each language; it names the served generation, so that it works."""
    served = request.server.published.generation or str(VERSION.example)
    return [
        code._replace(text=code.text.replace(str(VERSION.example), served))
        for code in call.texts(request.origin)
    ]


def _reference(request: PageRequest) -> ManualReference:
    """The pages of the reference in the visitor's language."""
    return manual(request.server.product).references["fr" if request.lang == "fr" else "en"]


PAGES: Final = (
    WebRoute(
        "/docs", "docs", contents, parameters=("q",), cached=True,
        menu=Text("API", "API"), below="/docs/", place=50,
    ),
    WebRoute(
        "/docs/guides/{slug}", "docs-guide", guide, cached=True, example="/docs/guides/demarrage",
        has=lambda product, slug: slug in guides_of(product),
    ),
    WebRoute(
        "/docs/routes/{id}", "docs-route", operation, cached=True, example="/docs/routes/readDescription",
        has=lambda product, name: name in manual(product).references["en"].operations,
    ),
    WebRoute(
        "/docs/objets/{name}", "docs-objet", described_object, cached=True, example="/docs/objets/Societe",
        has=lambda product, name: name in manual(product).references["en"].objects,
    ),
)  # fmt: skip
