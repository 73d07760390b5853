"""The pages /llms.txt (a summary of the service for language models) and /llms-full.txt (everything).

They are made from what the server itself uses: plans, limits, the parameters and operations of
/openapi.json, the tools. The form is that of llmstxt.org: a title, a quoted summary, a few paragraphs,
then sections of links. The text of /llms-full.txt is also served at /docs if the client prefers
Markdown.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from quota import plans
from quota.plans import Plan
from serve.access.call import Response
from serve.config import BurstLimits
from serve.contract import seed_tables
from serve.contract.declaration import component_name, component_schema
from serve.contract.feature import Product
from serve.contract.seed_tables import fill_prices
from serve.surfaces.docs import document
from serve.surfaces.docs.manual import manual
from serve.surfaces.docs.prose import tool_prices
from serve.surfaces.mcp.arguments import MOST_ROWS
from serve.surfaces.mcp.results import LARGEST
from serve.surfaces.mcp.tool_list import Tool, tools

_MARKDOWN: Final = {"Content-Type": "text/markdown; charset=utf-8", "Vary": "Accept"}
# Every client shows this type, and none offers to save it.
_PLAIN: Final = {"Content-Type": "text/plain; charset=utf-8"}

# Kinds of operations that the summary names in sections of their own.
_ELSEWHERE: Final = ("tools", "document", "check", "metrics")

_FILES: Final = ", and as files of whole searches (`/api/v1/export`: xlsx, csv, ndjson, parquet)"
_SUMMARY: Final = """\
# European companies

> A read-only API over the companies of 25 European countries as their business registers publish
> them: search by country, sector, activity, town, legal form, state, age, name, turnover, assets and
> headcount, with an exact total for every search. Over HTTP (JSON){as_tools}{files}.

Names of fields, labels and messages are French: `pays` country, `secteur` sector, `societe`
company, `nom` name, `effectif` headcount, `ca_eur` turnover in euros, `comptes` statements, `etat`
state of a company: `active`, `procedure` (insolvency, liquidation), `cessee` (ceased), `inconnu`.

Without a key a call is a visitor's: {visitor}. With `Authorization: Bearer <key>` it is that of an
organisation's plan, the first of which is free: {free}. Larger plans: {larger}.
Keys of some plans need the API tool, an option for a year: {tool};
without it they are served like those of the free plan. Totals are exact on every plan; `ids` shows all
companies that you have matched. A search is one call and costs no credits; a record with its statements costs
{prix.fiche} credits, once a month for the same company, one without statements none; lists are free. A wrong
value is an error that names it and suggests others: nothing is ignored.

{models}Whoever shows the data owes the attributions of the registers in them{sources}: {attributions}.

## API

- [OpenAPI 3.1]({base}/openapi.json): every route, parameter, answer and error
{operations}

## Documentation

- [Everything in one file]({base}/llms-full.txt): plans, errors, parameters, operations, tools
- [The same as a page]({base}/docs.md): in Markdown

## Optional

- [For people]({base}/docs): guides, routes, objects
{ready}"""
_AS_TOOLS: Final = ", as tools for language models\n> (MCP)"
_MODELS: Final = """\
Language models use the tools of `{base}/api/mcp` (Model Context Protocol, Streamable HTTP, POST
only, revisions 2026-07-28 and 2025-11-25, the key optional as above): {tools}. A search shows
{rows} companies at most, and no answer is larger than {size} KiB.

"""
_SOURCES: Final = ", with the dates of their files\n(`{base}/api/v1/sources`)"
_READY: Final = (
    "- [Is it ready?]({base}/readyz): the state of the service and the name of its data\n"
)


def make_pages(product: Product, base_url: str, debit: BurstLimits) -> Mapping[str, Response]:
    """The pages by path.

    Args:
        base_url: the beginning of links; "" makes them relative to the host.
        debit: the burst limits of this server.
    """
    whole = full_text(product, base_url, debit).encode()
    return {
        "llms.txt": Response(200, summary(product, base_url).encode(), _PLAIN),
        "llms-full.txt": Response(200, whole, _PLAIN),
        "docs.md": Response(200, whole, _MARKDOWN),
    }


def summary(product: Product, base_url: str) -> str:
    """The text of /llms.txt."""
    known = plans.load()
    larger = [plan for plan in known.values() if plan.prix_annuel_eur]
    served_tools = ", ".join(f"`{name}`" for name in tools(product))
    has_tools = product.operation("callTool") is not None
    models = _MODELS.format(base=base_url, tools=served_tools, rows=MOST_ROWS, size=LARGEST // 1024)
    return fill_prices(_SUMMARY).format(
        base=base_url,
        as_tools=_AS_TOOLS if has_tools else "",
        files=_FILES if product.operation("exportCompanies") else "",
        visitor=_figures(known["visiteur"]),
        free=_figures(known["free"]),
        larger="; ".join(f"{plan.nom_en} ({_figures(plan)})" for plan in larger),
        tool=tool_prices(known),
        operations="\n".join(_summaries(product, base_url)),
        models=models if has_tools else "",
        sources=_SOURCES.format(base=base_url) if product.operation("listSources") else "",
        ready=_READY.format(base=base_url) if product.operation("checkReady") else "",
        attributions="; ".join(
            one.attribution["en"].removeprefix("Source: ") for one in seed_tables.attributions()
        ),
    )


def _summaries(product: Product, base_url: str) -> Iterator[str]:
    """A line for each operation of the API, with a link to an answer where it needs no key."""
    for operation in product.operations:
        # A body that says the same as a query adds nothing.
        again = operation.method == "POST" and operation.kind != "body"
        below = operation.kind == "reconciliation" and operation.variables
        if operation.kind in _ELSEWHERE or again or below:
            continue
        example = manual(product).references["en"].operations[operation.id].request.target
        shown = (
            operation.method == "GET" and operation.key != "required" and not operation.variables
        )
        link = example if shown else f"/openapi.json#{operation.id}"
        named = component_name(operation.answer)
        said = component_schema(operation.answer, "en")["description"] if named else ""
        call = f"`{operation.method} {operation.path}`"
        if operation.kind == "reconciliation":
            call += f", below it {', '.join(_paths_below(product, operation.path))}"
        yield f"- [{operation.summary.en}]({base_url}{link}): {call}{said and '. '}{said.removesuffix('.')}"


def _paths_below(product: Product, path: str) -> Iterator[str]:
    """The paths that begin with another one, without that beginning."""
    for operation in product.operations:
        if operation.method == "GET" and operation.path.startswith(f"{path}/"):
            yield f"`{operation.path.removeprefix(path)}`"


def full_text(product: Product, base_url: str, debit: BurstLimits) -> str:
    """The text of /llms-full.txt."""
    described = document.document(product, base_url, debit)
    parts = [
        f"# {described['info']['title']}: the whole description\n\n"
        f"> {described['info']['summary']} A shorter one: {base_url}/llms.txt\n",
        described["info"]["description"],
        "## Operations\n",
        *_operations(described),
    ]
    if product.operation("callTool"):
        parts += [
            f"## Tools of {base_url}/api/mcp\n",
            *(_tool(tool) for tool in tools(product).values()),
        ]
    return "\n".join(parts)


def _figures(plan: Plan) -> str:
    """The rights of a plan, in the order of §8.1."""
    rights = [
        f"{plan.resultats_par_recherche:,} companies per search",
        f"{plan.appels_api_par_jour:,} calls a day" if plan.appels_api_par_jour else "",
        f"{plan.exports_par_mois} exports a month with up to {plan.lignes_par_export:,} companies each"
        if plan.exports_par_mois
        else "",
        "statements" if plan.etats_financiers else "",
        "contacts" if plan.coordonnees else "",
    ]
    price = f", {plan.prix_annuel_eur:,} EUR a year" if plan.prix_annuel_eur else ""
    return ", ".join(right for right in rights if right) + price


def _operations(described: Mapping[str, Any]) -> Iterator[str]:
    first: dict[str, str] = {}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            title = f"{method.upper()} {path}"
            lines = dict(_parameters(operation, described["components"]["parameters"]))
            parts = [
                f"### {title}\n",
                f"{_sentence(operation['summary'])} {operation['description']}\n",
                *_said_once(lines, title, first),
                f"\nAnswers with {', '.join(operation['responses'])}.\n",
            ]
            yield "\n".join(parts)


def _said_once(lines: Mapping[str, str], title: str, first: dict[str, str]) -> Iterator[str]:
    """The lines of parameters; those that stand under an earlier operation are named together.

    Args:
        lines: the line of each parameter.
        first: the operation under which a line stands; those of `title` are added.
    """
    earlier: dict[str, list[str]] = {}
    for name, line in lines.items():
        if (where := first.setdefault(line, title)) == title:
            yield line
        else:
            earlier.setdefault(where, []).append(f"`{name}`")
    for where, names in earlier.items():
        yield f"- {', '.join(names)}: as for {where}"


def _sentence(text: str) -> str:
    return text if text.endswith("?") else f"{text}."


def _parameters(
    operation: Mapping[str, Any], named: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """The name and the line of each parameter of an operation, headers left out."""
    for reference in operation["parameters"]:
        parameter = (
            named[reference["$ref"].rpartition("/")[2]] if "$ref" in reference else reference
        )
        if parameter["in"] != "header":
            schema = parameter["schema"]
            limits = [
                f"{said} {schema[name]}" for name, said in _LIMIT_WORDS.items() if name in schema
            ]
            example = [f"example `{parameter['example']}`"] if "example" in parameter else []
            facts = f" ({'; '.join(example + limits)})" if example + limits else ""
            line = f"- `{parameter['name']}`: {parameter['description']}{facts}"
            yield parameter["name"], line


# The limits that fit into a line; /openapi.json has the patterns and the long lists of words.
_LIMIT_WORDS: Final = {
    "default": "default",
    "minimum": "at least",
    "maximum": "at most",
    "maxLength": "characters, at most",
}


def _tool(tool: Tool) -> str:
    schema = tool.definition["inputSchema"]
    arguments = schema.get("properties", {})
    required = schema.get("required", [])
    lines = [
        f"- `{name}`{' (required)' if name in required else ''}: "
        f"{one.get('description', 'as for search_companies')}\n"
        for name, one in arguments.items()
    ]
    return f"### {tool.name}\n\n{tool.title}. {tool.description}\n\n" + "".join(lines)
