"""The pages /llms.txt (a summary of the service for language models) and /llms-full.txt (the complete description).

The pages are made from the declarations of the server: plans, limits, the parameters and operations of /openapi.json,
the tools. The format is llmstxt.org: a title, a quoted summary, a few paragraphs, then sections of links. /docs returns
the text of /llms-full.txt if the client prefers Markdown.
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

# The headers of /docs.md.
_MARKDOWN: Final = {"Content-Type": "text/markdown; charset=utf-8", "Vary": "Accept"}
# The headers of /llms.txt and /llms-full.txt. Browsers show a page of this type, and offer to save one of Markdown.
_PLAIN: Final = {"Content-Type": "text/plain; charset=utf-8"}

# Kinds of operations that the list in /llms.txt leaves out, because other lines of the page link to them.
_ELSEWHERE: Final = ("tools", "document", "check", "metrics")

# The text of /llms.txt, and its parts that depend on the operations of the product: exports of files, tools, sources,
# the state of the service.
_FILES: Final = ", and as files of whole searches (`/api/v1/export`: xlsx, csv, ndjson, parquet)"
_SUMMARY: Final = """\
# European companies

> A read-only API over the companies of 25 European countries as their business registers publish
> them: search by country, sector, activity, town, legal form, state, age, name, turnover, assets and
> headcount, with an exact total for every search. Over HTTP (JSON){as_tools}{files}.

Names of fields, labels and messages are French: `pays` country, `secteur` sector, `societe`
company, `nom` name, `effectif` headcount, `ca_eur` turnover in euros, `comptes` statements, `etat`
state of a company: `active`, `procedure` (insolvency, liquidation), `cessee` (ceased), `inconnu`.

Without a key a call is a visitor's: {visitor}. With `Authorization: Bearer <key>` it has the rights of
an organisation's plan. The first plan is free: {free}. Larger plans: {larger}.
Keys of some plans need the API tool, a yearly option: {tool};
without it they are served like keys of the free plan. Totals are exact on every plan; `ids` shows all
companies that you have matched. A search is one call and costs no credits. A record with statements costs
{prix.fiche} credits, once a month for the same company; a record without statements costs none. Lists are free. A
wrong value is an error that names the value and suggests others: nothing is ignored.

{models}Whoever shows the data must show the attributions of their registers{sources}: {attributions}.

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
only, revisions 2026-07-28 and 2025-11-25, with or without a key as above): {tools}. A search shows
at most {rows} companies, and no answer is larger than {size} KiB.

"""
_SOURCES: Final = ", with the dates of their files\n(`{base}/api/v1/sources`)"
_READY: Final = (
    "- [Is it ready?]({base}/readyz): the state of the service and the name of its data\n"
)


def make_pages(product: Product, base_url: str, debit: BurstLimits) -> Mapping[str, Response]:
    """The pages by path.

    Args:
        base_url: the beginning of links; "" for links relative to the host.
        debit: the burst limits of this server.
    """
    full = full_text(product, base_url, debit).encode()
    return {
        "llms.txt": Response(200, summary(product, base_url).encode(), _PLAIN),
        "llms-full.txt": Response(200, full, _PLAIN),
        "docs.md": Response(200, full, _MARKDOWN),
    }


def summary(product: Product, base_url: str) -> str:
    """The text of /llms.txt, a short guide for language models that use this server."""
    all_plans = plans.load()
    larger = [plan for plan in all_plans.values() if plan.prix_annuel_eur]
    served_tools = ", ".join(f"`{name}`" for name in tools(product))
    has_tools = product.operation("callTool") is not None
    models = _MODELS.format(base=base_url, tools=served_tools, rows=MOST_ROWS, size=LARGEST // 1024)
    return fill_prices(_SUMMARY).format(
        base=base_url,
        as_tools=_AS_TOOLS if has_tools else "",
        files=_FILES if product.operation("exportCompanies") else "",
        visitor=_plan_rights(all_plans["visiteur"]),
        free=_plan_rights(all_plans["free"]),
        larger="; ".join(f"{plan.nom_en} ({_plan_rights(plan)})" for plan in larger),
        tool=tool_prices(all_plans),
        operations="\n".join(_summaries(product, base_url)),
        models=models if has_tools else "",
        sources=_SOURCES.format(base=base_url) if product.operation("listSources") else "",
        ready=_READY.format(base=base_url) if product.operation("checkReady") else "",
        attributions="; ".join(
            source.attribution["en"].removeprefix("Source: ")
            for source in seed_tables.attributions()
        ),
    )


def _summaries(product: Product, base_url: str) -> Iterator[str]:
    """A line for each operation of the API, with a link to an example of its answer if the answer needs no key."""
    for operation in product.operations:
        # The same operation with its parameters in a body is left out, and so are the paths that the line of
        # reconciliation lists.
        is_repeated = operation.method == "POST" and operation.kind != "body"
        is_part = operation.kind == "reconciliation" and operation.variables
        if operation.kind in _ELSEWHERE or is_repeated or is_part:
            continue
        example_url = manual(product).references["en"].operations[operation.id].request.target
        can_be_linked = (
            operation.method == "GET" and operation.key != "required" and not operation.variables
        )
        link = example_url if can_be_linked else f"/openapi.json#{operation.id}"
        has_name = component_name(operation.answer)
        answer = component_schema(operation.answer, "en")["description"] if has_name else ""
        call = f"`{operation.method} {operation.path}`"
        if operation.kind == "reconciliation":
            call += f", below it {', '.join(_paths_below(product, operation.path))}"
        yield f"- [{operation.summary.en}]({base_url}{link}): {call}{answer and '. '}{answer.removesuffix('.')}"


def _paths_below(product: Product, path: str) -> Iterator[str]:
    """The GET paths below `path`, without `path`."""
    for operation in product.operations:
        if operation.method == "GET" and operation.path.startswith(f"{path}/"):
            yield f"`{operation.path.removeprefix(path)}`"


def full_text(product: Product, base_url: str, debit: BurstLimits) -> str:
    """The text of /llms-full.txt: the introduction of the OpenAPI document, all operations and all tools."""
    described = document.document(product, base_url, debit)
    parts = [
        f"# {described['info']['title']}: the whole description\n\n"
        f"> {described['info']['summary']} A shorter one: {base_url}/llms.txt\n",
        described["info"]["description"],
        "## Operations\n",
        *_operation_sections(described),
    ]
    if product.operation("callTool"):
        parts += [
            f"## Tools of {base_url}/api/mcp\n",
            *(_tool_section(tool) for tool in tools(product).values()),
        ]
    return "\n".join(parts)


def _plan_rights(plan: Plan) -> str:
    """The rights and the price of a plan in a few words, in the order of §8.1."""
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


def _operation_sections(described: Mapping[str, Any]) -> Iterator[str]:
    """The section of each operation; descriptions of parameters that recur are replaced by references."""
    first_titles: dict[str, str] = {}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            title = f"{method.upper()} {path}"
            lines = dict(_parameter_lines(operation, described["components"]["parameters"]))
            parts = [
                f"### {title}\n",
                f"{_sentence(operation['summary'])} {operation['description']}\n",
                *_drop_repeated(lines, title, first_titles),
                f"\nAnswers with {', '.join(operation['responses'])}.\n",
            ]
            yield "\n".join(parts)


def _drop_repeated(
    lines: Mapping[str, str], title: str, first_titles: dict[str, str]
) -> Iterator[str]:
    """The lines of parameters; lines that an earlier operation already has become references to that operation.

    Args:
        lines: the line of each parameter.
        title: the operation, as its section names it.
        first_titles: the title of the first operation with each line; new lines are added with `title`.
    """
    names_by_title: dict[str, list[str]] = {}
    for name, line in lines.items():
        if (first_title := first_titles.setdefault(line, title)) == title:
            yield line
        else:
            names_by_title.setdefault(first_title, []).append(f"`{name}`")
    for first_title, names in names_by_title.items():
        yield f"- {', '.join(names)}: as for {first_title}"


def _sentence(text: str) -> str:
    """A summary as a sentence: with a full stop, unless it is a question."""
    return text if text.endswith("?") else f"{text}."


def _parameter_lines(
    operation: Mapping[str, Any], components: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """The name and the line of each parameter of an operation, without headers."""
    for reference in operation["parameters"]:
        parameter = (
            components[reference["$ref"].rpartition("/")[2]] if "$ref" in reference else reference
        )
        if parameter["in"] != "header":
            schema = parameter["schema"]
            limits = [
                f"{words} {schema[name]}" for name, words in _LIMIT_WORDS.items() if name in schema
            ]
            example = [f"example `{parameter['example']}`"] if "example" in parameter else []
            facts = f" ({'; '.join(example + limits)})" if example + limits else ""
            line = f"- `{parameter['name']}`: {parameter['description']}{facts}"
            yield parameter["name"], line


# The limits that fit into a line; /openapi.json also has patterns and long lists of values.
_LIMIT_WORDS: Final = {
    "default": "default",
    "minimum": "at least",
    "maximum": "at most",
    "maxLength": "characters, at most",
}


def _tool_section(tool: Tool) -> str:
    """The section of a tool, with a line for each argument."""
    schema = tool.definition["inputSchema"]
    arguments = schema.get("properties", {})
    required = schema.get("required", [])
    lines = [
        f"- `{name}`{' (required)' if name in required else ''}: "
        f"{argument.get('description', 'as for search_companies')}\n"
        for name, argument in arguments.items()
    ]
    return f"### {tool.name}\n\n{tool.title}. {tool.description}\n\n" + "".join(lines)
