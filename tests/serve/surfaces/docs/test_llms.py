"""The files /llms.txt and /llms-full.txt, and the documentation as Markdown (§4.8)."""

import re
from urllib.parse import urlsplit

import pytest

from quota import plans
from serve.app import PRODUCT
from serve.contract import parameters
from serve.contract.errors import CODES
from serve.request.accept import wants_markdown
from serve.surfaces.docs import llms
from serve.surfaces.mcp.tool_list import tools
from tests.serve.client import Server

LINK = re.compile(r"\[[^\]]+\]\(([^)]+)\)")
PAGES = ["/llms.txt", "/llms-full.txt", "/docs.md"]


@pytest.mark.parametrize("path", PAGES)
def test_every_link_answers(server: Server, path: str) -> None:
    text = server.ask(path).body.decode()
    links = LINK.findall(text)

    assert links or path != "/llms.txt"
    assert {server.ask(link).status for link in links} <= {200}


def test_links_begin_with_the_base_url() -> None:
    links = LINK.findall(llms.summary(PRODUCT, "https://api.exemple.eu"))

    assert {urlsplit(link).netloc for link in links} == {"api.exemple.eu"}


def test_the_summary_has_the_form_of_llms_txt(server: Server) -> None:
    """llmstxt.org: a title, a quote, paragraphs without headings, sections of links"""
    text = server.ask("/llms.txt").body.decode()
    opening, *sections = text.split("\n## ")

    assert opening.startswith("# European companies\n\n> ")
    assert [section.partition("\n")[0] for section in sections] == [
        "API", "Documentation", "Optional",
    ]  # fmt: skip
    for section in sections:
        lines = [line for line in section.splitlines()[1:] if line]
        assert lines and all(re.fullmatch(r"- \[.+\]\(.+\): .+", line) for line in lines)
    assert len(text) < 7_200


def test_the_summary_names_every_route_of_the_api() -> None:
    """X0.2"""
    text = llms.summary(PRODUCT, "")

    for operation in PRODUCT.operations:
        if operation.path.startswith("/api/"):
            # The routes of OpenRefine's protocol are in the line of its manifest.
            named_path = operation.path.removeprefix("/api/v1/reconciliation") or operation.path
            assert f"`{named_path}`" in text or f" {named_path}`" in text


def test_the_figures_are_those_of_the_plans() -> None:
    """C5"""
    text = llms.summary(PRODUCT, "")

    for plan in plans.load().values():
        if plan.prix_annuel_eur:
            assert f"{plan.nom_en} ({plan.resultats_par_recherche:,} companies" in text
            assert f"{plan.appels_api_par_jour:,} calls a day" in text
            assert f"{plan.prix_annuel_eur:,} EUR a year" in text
    assert all(f"`{name}`" in text for name in tools(PRODUCT))


def test_the_full_text_has_every_parameter_operation_error_and_tool(server: Server) -> None:
    text = server.ask("/llms-full.txt").body.decode()

    assert all(
        f"`{parameter.name}`: {parameter.description.en}" in text for parameter in parameters.SEARCH
    )
    assert all(f"`{code}`" in text for code in CODES)
    assert all(f"### {tool.name}\n" in text for tool in tools(PRODUCT).values())
    assert "### GET /api/v1/societes/{iso}/{id}\n" in text
    assert server.ask("/docs.md").body.decode() == text


def test_the_full_text_has_no_doubled_punctuation(server: Server) -> None:
    text = server.ask("/llms-full.txt").body.decode()
    export = text.split("### POST /api/v1/export\n")[1].split("###")[0]

    assert "Is the process alive? For monitoring" in text and "?." not in text
    assert "The parameters are those of GET, as members of a JSON object." in export


@pytest.mark.parametrize("path", ["/llms-full.txt", "/docs.md", "/openapi.json"])
def test_the_limits_are_those_of_this_server(server: Server, path: str) -> None:
    """D7: the settings, not their defaults"""
    text = server.ask(path).body.decode()
    debit = server.context.config.debit

    assert f"| 5000 | {debit.corporate} |" in text
    assert f"{debit.visiteur_jour} an address | {debit.visiteur} |" in text
    assert f"{debit.listes} calls of public lists a minute" in text
    assert f"{debit.exports} exports at once" in text


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/llms.txt", "text/plain"), ("/llms-full.txt", "text/plain"), ("/docs.md", "text/markdown")],
)
def test_the_files_are_text_that_any_origin_may_read_and_cache(
    server: Server, path: str, kind: str
) -> None:
    """G2, G8"""
    reply = server.ask(path)

    assert reply.headers["Content-Type"] == f"{kind}; charset=utf-8"
    assert reply.headers["Cache-Control"] == "public, max-age=300"
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    not_modified = server.ask(path, headers={"If-None-Match": reply.headers["ETag"]})
    assert (not_modified.status, not_modified.body) == (304, b"")
    assert server.ask(path, "HEAD").headers["Content-Length"] == str(len(reply.body))
    assert server.ask(path, "POST").status == 405
    assert server.ask(f"{path}?x=1").status == 400


def test_the_documentation_is_markdown_if_the_caller_prefers_it(server: Server) -> None:
    page = server.ask("/docs", headers={"Accept": "text/html,*/*;q=0.8"})
    markdown = server.ask("/docs", headers={"Accept": "text/markdown, text/html;q=0.9"})

    assert page.headers["Content-Type"].startswith("text/html")
    assert markdown.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert markdown.body == server.ask("/docs.md").body
    for reply in (page, markdown):
        assert "Accept" in reply.headers["Vary"].split(", ")


@pytest.mark.parametrize(
    ("accept", "preferred"),
    [
        ("text/markdown", True),
        ("TEXT/Markdown; q=0.5", True),
        ("text/html;q=0.4, text/markdown;q=0.5", True),
        ("text/html, text/markdown", True),
        ("text/markdown;q=0", False),
        ("text/markdown;q=x", False),
        ("text/html, text/markdown;q=0.5", False),
        ("", False),
        ("*/*", False),
        ("application/json", False),
    ],
)
def test_the_accept_header_decides_whether_markdown_is_preferred(
    accept: str, preferred: bool
) -> None:
    """RFC 9110 §12.5.1"""
    assert wants_markdown(accept) is preferred
