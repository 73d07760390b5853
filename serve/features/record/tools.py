"""The tools of a record: a company with its statements on request, several companies, a group, a number.

Without statements, a company is shown as in a search and costs a call and no credits. With statements it is the record
of §4.5 at its price; credits are charged only if the company has statements (X0).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, NamedTuple

from serve.access import admission
from serve.access.call import PreparedCall, Request, Result
from serve.contract import errors
from serve.contract.declaration import ABSENT, JsonSchema
from serve.contract.errors import ApiError
from serve.contract.feature import Product
from serve.contract.parameters import ID, IDS, Parameter
from serve.contract.record_answers import Fiche
from serve.contract.statement_table import label_of
from serve.features.record.operations import exercices, identite, societe
from serve.generation.open_generation import OpenGeneration
from serve.request import values
from serve.request.place_names import PlaceNames
from serve.request.reader import Pairs
from serve.request.values import RequestedCompany
from serve.surfaces.mcp import arguments, results, tool_list
from serve.surfaces.mcp.pruning import ToolObject
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import OperationTool, Tool
from shards.codec.record import FIELDS

MOST_RECORDS: Final = 20  # companies of a call of `read_companies`

# The parameters that only these tools have.
STATEMENTS: Final = Parameter(
    "etats_financiers", "1", "flag", enum=("1",), text="tool-etats_financiers"
)

YEAR: Final = Parameter("exercice", 2024, "integer", minimum=1, text="tool-exercice")

RECORDS: Final = replace(IDS, text="tool-ids", most=MOST_RECORDS)

# The arguments of `read_company` and of `read_companies`.
COMPANY_ARGUMENTS: Final = (arguments.COUNTRY, ID, STATEMENTS, YEAR)

COMPANIES_ARGUMENTS: Final = (RECORDS,)

# The record without its statements, which a tool shows only on request.
RECORD: Final = ToolObject(Fiche, ("comptes", "comptes_message", "droits"), company=FIELDS)

_STATEMENTS_SCHEMA: Final[JsonSchema] = {
    "type": "array",
    "description": "The latest year first; only on request.",
    "items": {
        "type": "object",
        "properties": {
            "exercice": {"type": "integer"},
            "etat": {"type": "string"},
            "devise": {"type": "string"},
            "lignes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "code": {"type": "string"},
                        "libelle": {"type": "string"},
                        "valeur": {"type": "number"},
                    },
                    "required": ["libelle"],
                },
            },
        },
        "required": ["exercice", "etat", "lignes"],
    },
}

_TEXTS_SCHEMA: Final[JsonSchema] = {"type": "array", "items": {"type": "string"}}
# The output of `read_companies`.
SEVERAL_RECORDS: Final[JsonSchema] = {
    "type": "object",
    "properties": {
        "societes": {
            "type": "array",
            "items": {"type": "object"},
            "description": "Each as in read_company.",
        },
        "ids_inconnus": _TEXTS_SCHEMA,
        "proches": {
            "type": "object",
            "description": "The nearest companies of each unknown item.",
        },
        "ids_restants": {**_TEXTS_SCHEMA, "description": "Not read, and not counted."},
    },
    "required": ["societes"],
    "additionalProperties": False,
}

# Notes in an answer: why it has no statements, or not all of them, and the next call to make.
_ROUTE_OF_ALL_LINES: Final = (
    "GET /api/v1/societes/{iso2}/{id} with the same key has every line, free this month."
)

_YEARS_LEFT_OUT: Final = (
    "Not all years fit into one answer: call again with exercice, one year at a time. A company "
    "that was paid for is free until the end of the month."
)

_NEEDS_KEY: Final = "No statements: they are for callers with a key, from the free plan on."

_NEEDS_CREDITS: Final = "No statements: they cost credits, and none are left."

# The status of an answer without statements because no credits are left.
_PAYMENT_REQUIRED: Final = 402

_NOT_READ: Final = (
    "`ids_restants` were neither read nor counted: they did not fit into one answer, or a limit was "
    "reached. Call again with them."
)

_LARGEST_RECORD: Final = 6 * 1024  # the most bytes of each record of `read_companies`

# The code of the error for a company that does not exist.
_UNKNOWN_COMPANY: Final = "societe_introuvable"


class _StatementChoice(NamedTuple):
    """The requested statements: none, all, or those of a `year`."""

    statements: bool = False
    year: int | None = None


async def read_company(call: Request) -> ToolResult:
    """The company in the arguments of the tool, with its statements on request; charged as on the route of records."""
    await admission.admit(call)
    choice = _StatementChoice()

    def prepare(request: Request, generation: OpenGeneration) -> PreparedCall[Fiche]:
        """Prepare the record, with the statements that the arguments choose."""
        nonlocal choice  # read here, because the arguments are checked against the generation
        choice = _statement_choice(request.pairs, generation.names)
        return _prepare_record(_company_request(request), generation, choice)

    result = await admission.perform(call, prepare)
    if result.content is None:
        return results.tool_result(result, None)
    shown = _identity(result.content, call.context.product) | results.credits(result.headers)
    if choice.statements:
        _add_statements(shown, result.content, result, choice.year)
    return results.tool_result(result, shown)


async def read_companies(call: Request) -> ToolResult:
    """Read several companies without statements; each is admitted and counted as if it were read alone.

    Reading stops if the answer is full or a limit is reached; the companies left are then in `ids_restants`.
    """
    items: Sequence[RequestedCompany] = ()
    records: list[Any] = []
    absent_items: dict[str, Sequence[str]] = {}
    last_result: Result[Fiche] = Result(200, None)
    refusal: ApiError | None = None

    def prepare(request: Request, generation: OpenGeneration) -> PreparedCall[Fiche]:
        """Prepare the record of the next company that was not read yet."""
        nonlocal items
        items = _requested_companies(request.pairs, generation)
        company = items[len(records) + len(absent_items)]
        segments = (company.iso2, company.identifier)
        return identite(replace(request, segments=segments, read=tuple), generation)

    def answer_so_far() -> dict[str, Any]:
        """The answer with the companies that were read until now."""
        near_companies = {item: list(proches) for item, proches in absent_items.items() if proches}
        unread = [company.text for company in items[len(records) + len(absent_items) :]]
        lists = {
            "ids_inconnus": list(absent_items),
            "proches": near_companies,
            "ids_restants": unread,
        }
        content = {"societes": records, **{name: value for name, value in lists.items() if value}}
        return content | ({"note": _NOT_READ} if unread else {})

    while not items or len(records) + len(absent_items) < len(items):
        if not results.fits(answer_so_far(), spare_bytes=_LARGEST_RECORD):
            break
        try:
            await admission.admit(call)
            last_result = await admission.perform(call, prepare)
            refusal = last_result.error
        except ApiError as error:
            refusal = error
            if error.code != _UNKNOWN_COMPANY:
                if not records and not absent_items:
                    raise
                break
        if refusal is not None and refusal.code == _UNKNOWN_COMPANY:
            item = items[len(records) + len(absent_items)].text
            absent_items[item] = refusal.extra.get("proches", ())
            refusal = None
        elif last_result.content is not None:
            societe = _identity(last_result.content, call.context.product)["societe"]
            records.append(results.shorten_to_fit(societe, _LARGEST_RECORD))
    return results.tool_result(last_result._replace(error=refusal), answer_so_far())


def _requested_companies(pairs: Pairs, generation: OpenGeneration) -> Sequence[RequestedCompany]:
    """The companies to read. Raises ApiError 400."""
    items = values.items([text for _, text in pairs], RECORDS)
    if not items:
        raise values.missing_value(RECORDS)
    return values.companies(items, generation.names)


def _company_request(request: Request) -> Request:
    """The request that the route of the company in the arguments would get: its path, without parameters (`tuple`)."""
    segments = (
        results.argument_value(request.pairs, "iso2"),
        results.argument_value(request.pairs, "id"),
    )
    return replace(request, segments=segments, read=tuple)


def _statement_choice(pairs: Pairs, names: PlaceNames) -> _StatementChoice:
    """The choice in the arguments; a year alone also requests statements. Raises ApiError 400."""
    arguments_by_name = {
        parameter.name: values.value([text], parameter, names)
        for parameter in (STATEMENTS, YEAR)
        for name, text in pairs
        if name == parameter.name
    }
    year = arguments_by_name.get(YEAR.name)
    return _StatementChoice(STATEMENTS.name in arguments_by_name or year is not None, year)


def _prepare_record(
    request: Request, generation: OpenGeneration, choice: _StatementChoice
) -> PreparedCall[Fiche]:
    """The record, or only the identity if no statements are requested.

    Raises:
        ApiError: 400: the company has statements, and the requested year has none.
    """
    if not choice.statements:
        return identite(request, generation)
    if request.caller.plan.etats_financiers:
        years = exercices(request, generation)
        if years and choice.year not in (None, *years):
            raise _no_such_year(choice.year, [str(year) for year in years])
    return societe(request, generation)


def _no_such_year(year: int | None, years: Sequence[str]) -> ApiError:
    """The error for a year without statements; `years` are those that have some."""
    return errors.invalid_parameter(
        YEAR.name, "pas_d_exercice", year=year, known=", ".join(years), valeurs=years
    )


def _identity(record: Fiche, product: Product) -> dict[str, Any]:
    """The company and the plan of a record."""
    return RECORD.document(replace(record, comptes=ABSENT, comptes_message=ABSENT), product)


def _add_statements(
    shown: dict[str, Any], record: Fiche, result: Result[Fiche], year: int | None
) -> None:
    """Add the statements that fit into the answer to `shown`, or a note that says why lines are left out."""
    if record.comptes_message:
        shown["note"] = _NEEDS_CREDITS if result.status == _PAYMENT_REQUIRED else _NEEDS_KEY
        return
    lines = [line for line in record.lines() if year in (None, line["exercice"])]
    fitting = results.longest_fitting(
        lines,
        lambda fitting_lines: {
            **shown,
            "comptes": _group_by_statement(fitting_lines),
            "note": _YEARS_LEFT_OUT,
        },
    )
    shown["comptes"] = _group_by_statement(fitting)
    if not lines:
        shown["note"] = "No statements of this company are published here."
    elif len(fitting) < len(lines):
        note_of_year = f"Not all lines fit into one answer. {_ROUTE_OF_ALL_LINES}"
        shown["note"] = _YEARS_LEFT_OUT if year is None else note_of_year


def _group_by_statement(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Group the lines by year and statement, in their order (E5); common values appear once."""
    groups = groupby(lines, key=lambda line: (line["exercice"], line["etat"], line["devise"]))
    return [
        _without_nulls({"exercice": exercice, "etat": etat, "devise": devise})
        | {"lignes": [_shown_line(line) for line in of_statement]}
        for (exercice, etat, devise), of_statement in groups
    ]


def _shown_line(line: Mapping[str, Any]) -> dict[str, Any]:
    """The code, label and amount of a statement line; its year, statement and currency are in the group around it."""
    return _without_nulls(
        {"code": line["code"], "libelle": label_of(line), "valeur": line["valeur"]}
    )


def _without_nulls(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


TOOLS: Final = (
    Tool(
        "read_company",
        read_company,
        RECORD,
        {"comptes": _STATEMENTS_SCHEMA, **tool_list.CREDITS},
        COMPANY_ARGUMENTS,
        ("iso2", "id"),
        brief=False,
        place=100,
    ),
    Tool(
        "read_companies",
        read_companies,
        SEVERAL_RECORDS,
        arguments=COMPANIES_ARGUMENTS,
        required=("ids",),
        figures={"most_records": MOST_RECORDS},
        place=110,
    ),
    OperationTool(
        "company_group",
        without=("source", "sources.registre", "licence", "licence_adresse", "attribution"),
        rows="enfants",
        advice="The API has all of them.",
        place=140,
    ),
    OperationTool("look_up", place=160, quotes=False),
)
