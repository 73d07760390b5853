"""Products without one feature or surface: the remaining parts work, and no link or text leads to the missing part."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import orjson
import pytest

from serve.app import PRODUCT
from serve.contract.feature import Feature, Operation, Product
from serve.surfaces.mcp.tool_list import tools
from serve.surfaces.site.page_request import pages_of
from tests.serve import world
from tests.serve.client import Server, run_server
from tests.serve.surfaces.mcp.client import send_legacy
from tests.serve.surfaces.site.visitor import sign_up_member

LINK: Final = re.compile(r'(?:href|action|src)="(/[^"#]*)')
TITLE: Final = re.compile("<title>(.*)</title>")
HTML: Final = {"Accept": "text/html"}
COMPANY_PATH: Final = "/societes/{iso2}/{id}".format(**world.COMPANIES[0])
# Read in addition to an example of each page: the front page, results, a record, an unknown page and company.
EXTRA_PATHS: Final = ("/", "/?q=lab", COMPANY_PATH, "/nothing", "/societes/FR/000000000")
# Without the site there are no pages to compare, so the last test covers that product.
REMOVABLE_PARTS: Final = [
    part.name for part in (*PRODUCT.features, *PRODUCT.surfaces) if part.name != "site"
]


def product_without(name: str) -> Product:
    """The product without a feature or a surface."""

    def without_part(parts: tuple[Feature, ...]) -> list[Feature]:
        """These features or surfaces, except the one named `name`."""
        return [part for part in parts if part.name != name]

    return Product(without_part(PRODUCT.features), without_part(PRODUCT.surfaces))


def missing_parts(product: Product) -> tuple[set[str], set[str], set[str]]:
    """The names of the operations and tools, and the paths of the pages, that the product does not have."""
    operations = {operation.id for operation in PRODUCT.operations} - {
        operation.id for operation in product.operations
    }
    tool_names = set(tools(PRODUCT)) - set(tools(product))
    pages = {page.path for page in pages_of(PRODUCT).all} - {
        page.path for page in pages_of(product).all
    }
    return operations, tool_names, pages


def example_path(operation: Operation) -> str:
    """A path by which an operation can be requested: its variables and its required parameters have values."""
    company = world.COMPANIES[0]
    values = {
        "iso": company["iso2"], "id": company["id"], "valeur": company["id"], "jeton": "visiteur", "quoi": "entity",
        "societe": f"{company['iso2']}:{company['id']}",
    }  # fmt: skip
    needed = {
        parameter.name: parameter.example
        for parameter in operation.parameters
        if parameter.required
    }
    return operation.path.format(**values) + (f"?{urlencode(needed)}" if needed else "")


@pytest.fixture(scope="module", params=REMOVABLE_PARTS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server of a product without one part; each test runs for each part."""
    data = tmp_path_factory.mktemp("product") / "data"
    data.mkdir()
    world.publish(data)
    with run_server(data, product=product_without(request.param)) as server:
        yield server


def paths_of(operations: Iterable[Operation]) -> set[str]:
    """The paths of operations, with variables."""
    return {operation.path for operation in operations}


def test_paths_of_a_missing_part_are_404(server: Server) -> None:
    product = server.context.product
    first_words = {path.split("/")[3] for path in paths_of(product.operations) if "/v1/" in path}
    left_out = paths_of(PRODUCT.operations) - paths_of(product.operations)
    assert left_out

    for path in (path for path in left_out if "{" not in path):
        # By hand: `ask` would compare the response with the document, which has the path.
        response = server.send_raw(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert b" 404 " in response[:20]
    if "service" in {part.name for part in product.features}:
        assert server.ask("/readyz").status == 200
    message = server.ask("/api/v1/nothing").json["erreur"]["message"]
    assert set(re.findall(r"[a-z-]+", message.partition(":")[2])) >= first_words
    missing = {path.split("/")[3] for path in left_out if "/v1/" in path} - first_words
    assert not [name for name in missing if re.search(rf"\b{name}\b", message)]


def test_no_document_has_a_missing_part(server: Server) -> None:
    product = server.context.product
    operations, tool_names, pages = missing_parts(product)
    left_out = paths_of(PRODUCT.operations) - paths_of(product.operations)
    if not product.operation("readDescription"):
        pytest.skip("no documents")

    described = server.ask("/openapi.json").json
    summary = server.ask("/llms.txt").body.decode()
    full_text = server.ask("/llms-full.txt").body.decode()

    named_operations = re.findall(r'"operationId":"(\w+)"', orjson.dumps(described).decode())
    assert not set(named_operations) & operations
    assert not set(described["paths"]) & left_out
    for path in left_out | pages - {"/"}:
        assert not re.search(rf"{re.escape(path)}[`) ]", summary), path
    assert not [
        name for name in tool_names if f"`{name}`" in summary or f"### {name}\n" in full_text
    ]
    assert ("/api/mcp" in summary + full_text) == (product.operation("callTool") is not None)


def test_no_tool_of_a_missing_part_is_listed(server: Server) -> None:
    _, tool_names, _ = missing_parts(server.context.product)
    if not server.context.product.operation("callTool"):
        pytest.skip("no tools")

    listed = send_legacy(server, "tools/list").json["result"]["tools"]

    assert {tool["name"] for tool in listed} == set(tools(PRODUCT)) - tool_names


def test_all_other_operations_answer_as_before(server: Server, complete: Server) -> None:
    """A product without a part answers like the complete product, but for its port"""
    headers, complete_headers = (
        server.customer("integral").headers,
        complete.customer("integral").headers,
    )
    checked = 0
    for operation in server.context.product.operations:
        if operation.method != "GET" or operation.kind in (
            "metrics",
            "check",
            "document",
            "file",
            "account",
        ):
            continue
        path = example_path(operation)
        reply, expected = (
            server.ask(path, headers=headers),
            complete.ask(path, headers=complete_headers),
        )
        body = reply.body.replace(str(server.port).encode(), str(complete.port).encode())
        assert (reply.status, body) == (expected.status, expected.body), path
        checked += 1
    assert checked > 8  # the smallest product still has more routes


def test_no_page_links_to_a_missing_part(server: Server, complete: Server) -> None:
    pages = pages_of(server.context.product)
    examples = [path for path, page in pages.examples().items() if page.get and not page.personal]
    replies = {path: server.ask(path, headers=HTML) for path in (*examples, *EXTRA_PATHS)}
    links = {link for reply in replies.values() for link in LINK.findall(reply.body.decode())}

    failed = {path: reply.status for path, reply in replies.items() if reply.status >= 500}
    assert failed == {}
    dead_links = [link for link in sorted(links) if leads_nowhere(link, server, complete)]
    assert dead_links == []


def leads_nowhere(link: str, server: Server, complete: Server) -> bool:
    """Whether a link of a page fails on this server but not in the complete product."""
    path, query, _ = link.partition("?")
    if path == "/" and query:
        return "/" not in pages_of(server.context.product)
    status = server.ask(path, headers=HTML).status
    return status >= 400 and complete.ask(path, headers=HTML).status != status


def test_the_first_page_of_the_menu_is_the_front_page(server: Server) -> None:
    """Without the search, `/` shows another page of the menu, so it has the title of that page"""
    page = server.ask("/", headers=HTML)
    first_of_menu = server.ask(pages_of(server.context.product).menu[0].path, headers=HTML)

    assert page.status == 200
    assert TITLE.findall(page.body.decode()) == TITLE.findall(first_of_menu.body.decode())


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the product with all its parts."""
    data = tmp_path_factory.mktemp("complete") / "data"
    data.mkdir()
    world.publish(data)
    with run_server(data) as server:
        yield server


def test_a_person_has_an_account_and_opens_companies(server: Server, complete: Server) -> None:
    if "account" not in {part.name for part in server.context.product.features}:
        pytest.skip("nobody can log in")
    visitor, account = sign_up_member(server, "integral", api_tool=True)
    visitor.get("/compte")
    key_page = visitor.send("/compte/cles", {"connues": "1", "libelle": "a"})
    paths = (
        "/compte",
        "/compte/membres",
        COMPANY_PATH,
        f"{COMPANY_PATH}/analyse",
        "/?q=lab",
        "/tarifs",
    )
    pages_read = {path: visitor.get(path) for path in (*paths, "/rapprochement", "/docs")}
    links = {link for page in (key_page, *pages_read.values()) for link in LINK.findall(page.html)}

    assert key_page.key and account
    pages = pages_of(server.context.product)
    assert {path: page.status for path, page in pages_read.items() if page.status >= 400} == {
        path: 404 for path in pages_read if pages.resolve(path.partition("?")[0]) is None
    }
    posts = {page.path for page in pages.all if not page.get}
    dead_links = [link for link in sorted(links - posts) if leads_nowhere(link, server, complete)]
    assert dead_links == []


def test_without_the_site_the_api_answers_and_every_error_is_json(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    world.publish(data)
    product = product_without("site")

    with run_server(data, product=product) as server:
        key = server.customer("data").headers
        results = server.ask("/api/v1/societes?q=lab", headers=key)
        page = server.ask("/tarifs", headers=HTML)
        assert (results.status, page.status, page.code) == (200, 404, "route_inconnue")
        assert server.ask("/openapi.json").status == 200
        assert send_legacy(server, "tools/list").json["result"]["tools"]
