"""Products without a feature or a surface: each answers all the rest, and nothing leads to a thing that is left out."""

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
from tests.serve.client import Served, serving
from tests.serve.surfaces.mcp.client import legacy
from tests.serve.surfaces.site.visitor import member

LINK: Final = re.compile(r'(?:href|action|src)="(/[^"#]*)')
TITLE: Final = re.compile("<title>(.*)</title>")
HTML: Final = {"Accept": "text/html"}
COMPANY: Final = "/societes/{iso2}/{id}".format(**world.COMPANIES[0])
# Beside an example of every page: results, an unknown page, and a company that is not there.
MORE: Final = ("/", "/?q=lab", COMPANY, "/nothing", "/societes/FR/000000000")
# Without the site there are no pages: a test of its own.
PARTS: Final = [part.name for part in (*PRODUCT.features, *PRODUCT.surfaces) if part.name != "site"]


def without(name: str) -> Product:
    """The product without a feature or a surface."""

    def others(parts: tuple[Feature, ...]) -> list[Feature]:
        return [part for part in parts if part.name != name]

    return Product(others(PRODUCT.features), others(PRODUCT.surfaces))


def gone(product: Product) -> tuple[set[str], set[str], set[str]]:
    """The operations, tools and paths of pages that the product does not have."""
    operations = {one.id for one in PRODUCT.operations} - {one.id for one in product.operations}
    named = set(tools(PRODUCT)) - set(tools(product))
    pages = {one.path for one in pages_of(PRODUCT).all} - {
        one.path for one in pages_of(product).all
    }
    return operations, named, pages


def example_path(operation: Operation) -> str:
    """A path of an operation, with the parameters that it needs."""
    first = world.COMPANIES[0]
    values = {
        "iso": first["iso2"], "id": first["id"], "valeur": first["id"], "jeton": "visiteur", "quoi": "entity",
        "societe": f"{first['iso2']}:{first['id']}",
    }  # fmt: skip
    needed = {one.name: one.example for one in operation.parameters if one.required}
    return operation.path.format(**values) + (f"?{urlencode(needed)}" if needed else "")


@pytest.fixture(scope="module", params=PARTS)
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("product") / "data"
    data.mkdir()
    world.publish(data)
    with serving(data, product=without(request.param)) as served:
        yield served


def paths_of(operations: Iterable[Operation]) -> set[str]:
    return {one.path for one in operations}


def test_no_path_of_what_is_left_out_is_answered(served: Served) -> None:
    product = served.context.product
    first_words = {path.split("/")[3] for path in paths_of(product.operations) if "/v1/" in path}
    left_out = paths_of(PRODUCT.operations) - paths_of(product.operations)
    assert left_out

    for path in (path for path in left_out if "{" not in path):
        head = served.raw(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert b" 404 " in head[:20]
    if "service" in {part.name for part in product.features}:
        assert served.ask("/readyz").status == 200
    message = served.ask("/api/v1/nothing").json["erreur"]["message"]
    assert set(re.findall(r"[a-z-]+", message.partition(":")[2])) >= first_words
    gone = {path.split("/")[3] for path in left_out if "/v1/" in path} - first_words
    assert not [name for name in gone if re.search(rf"\b{name}\b", message)]


def test_no_document_has_what_is_left_out(served: Served) -> None:
    product = served.context.product
    operations, named, pages = gone(product)
    left_out = paths_of(PRODUCT.operations) - paths_of(product.operations)
    if not product.operation("readDescription"):
        pytest.skip("no documents")

    described = served.ask("/openapi.json").json
    summary = served.ask("/llms.txt").body.decode()
    whole = served.ask("/llms-full.txt").body.decode()

    named_operations = re.findall(r'"operationId":"(\w+)"', orjson.dumps(described).decode())
    assert not set(named_operations) & operations
    assert not set(described["paths"]) & left_out
    for path in left_out | pages - {"/"}:
        assert not re.search(rf"{re.escape(path)}[`) ]", summary), path
    assert not [name for name in named if f"`{name}`" in summary or f"### {name}\n" in whole]
    assert ("/api/mcp" in summary + whole) == (product.operation("callTool") is not None)


def test_no_tool_has_what_is_left_out(served: Served) -> None:
    _, named, _ = gone(served.context.product)
    if not served.context.product.operation("callTool"):
        pytest.skip("no tools")

    listed = legacy(served, "tools/list").json["result"]["tools"]

    assert {tool["name"] for tool in listed} == set(tools(PRODUCT)) - named


def test_all_other_operations_answer_as_before(served: Served, whole: Served) -> None:
    customer, same = served.customer("integral").headers, whole.customer("integral").headers
    checked = 0
    for operation in served.context.product.operations:
        if operation.method != "GET" or operation.kind in (
            "metrics",
            "check",
            "document",
            "file",
            "account",
        ):
            continue
        path = example_path(operation)
        reply, expected = served.ask(path, headers=customer), whole.ask(path, headers=same)
        body = reply.body.replace(str(served.port).encode(), str(whole.port).encode())
        assert (reply.status, body) == (expected.status, expected.body), path
        checked += 1
    assert checked > 8


def test_no_page_leads_to_what_is_left_out(served: Served, whole: Served) -> None:
    pages = pages_of(served.context.product)
    examples = [path for path, page in pages.examples().items() if page.get and not page.personal]
    read = {path: served.ask(path, headers=HTML) for path in (*examples, *MORE)}
    links = {link for reply in read.values() for link in LINK.findall(reply.body.decode())}

    failed = {path: reply.status for path, reply in read.items() if reply.status >= 500}
    assert failed == {}
    wrong = [link for link in sorted(links) if leads_nowhere(link, served, whole)]
    assert wrong == []


def leads_nowhere(link: str, served: Served, whole: Served) -> bool:
    """Whether a link of a page fails, unless it fails in the whole product too."""
    path, query, _ = link.partition("?")
    if path == "/" and query:
        return "/" not in pages_of(served.context.product)
    status = served.ask(path, headers=HTML).status
    return status >= 400 and whole.ask(path, headers=HTML).status != status


def test_the_first_page_of_the_menu_is_the_front_page(served: Served) -> None:
    page = served.ask("/", headers=HTML)
    first = served.ask(pages_of(served.context.product).menu[0].path, headers=HTML)

    assert page.status == 200
    assert TITLE.findall(page.body.decode()) == TITLE.findall(first.body.decode())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("whole") / "data"
    data.mkdir()
    world.publish(data)
    with serving(data) as served:
        yield served


def test_a_person_has_an_account_and_opens_companies(served: Served, whole: Served) -> None:
    if "account" not in {part.name for part in served.context.product.features}:
        pytest.skip("nobody can log in")
    visitor, account = member(served, "integral", api_tool=True)
    visitor.get("/compte")
    made = visitor.send("/compte/cles", {"connues": "1", "libelle": "a"})
    paths = ("/compte", "/compte/membres", COMPANY, f"{COMPANY}/analyse", "/?q=lab", "/tarifs")
    read = {path: visitor.get(path) for path in (*paths, "/rapprochement", "/docs")}
    links = {link for page in (made, *read.values()) for link in LINK.findall(page.html)}

    assert made.key and account
    known = pages_of(served.context.product)
    assert {path: page.status for path, page in read.items() if page.status >= 400} == {
        path: 404 for path in read if known.resolve(path.partition("?")[0]) is None
    }
    posts = {page.path for page in known.all if not page.get}
    wrong = [link for link in sorted(links - posts) if leads_nowhere(link, served, whole)]
    assert wrong == []


def test_without_the_site_the_api_answers_and_every_error_is_json(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    world.publish(data)
    product = without("site")

    with serving(data, product=product) as served:
        key = served.customer("data").headers
        found = served.ask("/api/v1/societes?q=lab", headers=key)
        page = served.ask("/tarifs", headers=HTML)
        assert (found.status, page.status, page.code) == (200, 404, "route_inconnue")
        assert served.ask("/openapi.json").status == 200
        assert legacy(served, "tools/list").json["result"]["tools"]
