"""Tools of a record: one company, with its statements if they are requested, several, and a group.

Without statements it shows what a search shows of the company, at the price of a search: a call and
no credits. With statements it is the record of §4.5, at the price of the record: nothing where there are none (X0).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, NamedTuple

from serve.access import admission
from serve.access.call import PreparedCall, Request, Result
from serve.contract import errors
from serve.contract.company_answers import Fiche
from serve.contract.declaration import ABSENT, Schema
from serve.contract.errors import ApiError
from serve.contract.feature import Product
from serve.contract.parameters import ID, IDS, Parameter
from serve.contract.statement_table import label_of
from serve.features.record.operations import exercices, identite, societe
from serve.generation.open_generation import OpenGeneration
from serve.request import values
from serve.request.place_names import PlaceNames
from serve.request.reader import Pairs
from serve.request.values import AskedCompany
from serve.surfaces.mcp import arguments, results, tool_list
from serve.surfaces.mcp.pruning import ToolObject
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import OperationTool, Tool
from shards.codec.record import FIELDS

MOST_RECORDS: Final = 20

STATEMENTS: Final = Parameter(
    "etats_financiers", "1", "flag", enum=("1",), text="tool-etats_financiers"
)

YEAR: Final = Parameter("exercice", 2024, "integer", minimum=1, text="tool-exercice")

RECORDS: Final = replace(IDS, text="tool-ids", most=MOST_RECORDS)

COMPANY: Final = (arguments.COUNTRY, ID, STATEMENTS, YEAR)

COMPANIES: Final = (RECORDS,)


RECORD: Final = ToolObject(Fiche, ("comptes", "comptes_message", "droits"), company=FIELDS)

_STATEMENTS: Final[Schema] = {
    "type": "array",
    "description": "The latest year first; only if asked for.",
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

_TEXTS: Final[Schema] = {"type": "array", "items": {"type": "string"}}
SEVERAL: Final[Schema] = {
    "type": "object",
    "properties": {
        "societes": {
            "type": "array",
            "items": {"type": "object"},
            "description": "Each as read_company shows it.",
        },
        "ids_inconnus": _TEXTS,
        "proches": {
            "type": "object",
            "description": "Of an unknown item: the nearest companies.",
        },
        "ids_restants": {**_TEXTS, "description": "Not read, and not counted."},
    },
    "required": ["societes"],
    "additionalProperties": False,
}

_WHOLE_RECORD: Final = (
    "GET /api/v1/societes/{iso2}/{id} with the same key has every line, free this month."
)

_YEARS_LEFT_OUT: Final = (
    "Not all years fit into one answer: call again with exercice, one year at a time. A company "
    "that was paid for is free until the end of the month."
)

_NEEDS_KEY: Final = "No statements: they are for callers with a key, from the free plan on."

_NEEDS_CREDITS: Final = "No statements: they cost credits, and none are left."

_NO_CREDITS: Final = 402

_NOT_READ: Final = (
    "`ids_restants` were neither read nor counted: they did not fit into one answer, or a limit was "
    "reached. Call again with them."
)

_LARGEST_RECORD: Final = 6 * 1024  # bytes that one of several records takes at most

_UNKNOWN_COMPANY: Final = "societe_introuvable"


class _WantedStatements(NamedTuple):
    """The statements that are requested: none, all, or those of one `year`."""

    statements: bool = False
    year: int | None = None


async def read(call: Request) -> ToolResult:
    """One company."""
    await admission.admit(call)
    wanted = _WantedStatements()

    def prepare(request: Request, generation: OpenGeneration) -> PreparedCall[Fiche]:
        nonlocal wanted
        wanted = _wanted_parts(request.pairs, generation.names)
        return _prepare_record(_of_company(request), generation, wanted)

    result = await admission.perform(call, prepare)
    if result.content is None:
        return results.tool_result(result, None)
    shown = _identity(result.content, call.context.product) | results.credits(result.headers)
    if wanted.statements:
        _add_statements(shown, result.content, result, wanted.year)
    return results.tool_result(result, shown)


async def read_several(call: Request) -> ToolResult:
    """Several companies without statements, each admitted and counted as one that is read alone."""
    asked: Sequence[AskedCompany] = ()
    known: list[Any] = []
    absent: dict[str, Sequence[str]] = {}
    last: Result[Fiche] = Result(200, None)
    refusal: ApiError | None = None

    def prepare(request: Request, generation: OpenGeneration) -> PreparedCall[Fiche]:
        nonlocal asked
        asked = _companies(request.pairs, generation)
        one = asked[len(known) + len(absent)]
        named = replace(request, segments=(one.iso2, one.identifier), read=tuple)
        return identite(named, generation)

    def document() -> dict[str, Any]:
        near = {item: list(proches) for item, proches in absent.items() if proches}
        rest = [one.given for one in asked[len(known) + len(absent) :]]
        lists = {"ids_inconnus": list(absent), "proches": near, "ids_restants": rest}
        told = {"societes": known, **{name: value for name, value in lists.items() if value}}
        return told | ({"note": _NOT_READ} if rest else {})

    while not asked or len(known) + len(absent) < len(asked):
        if not results.fits(document(), room=_LARGEST_RECORD):
            break
        try:
            await admission.admit(call)
            last = await admission.perform(call, prepare)
            refusal = last.error
        except ApiError as error:
            refusal = error
            if error.code != _UNKNOWN_COMPANY:
                if not known and not absent:
                    raise
                break
        if refusal is not None and refusal.code == _UNKNOWN_COMPANY:
            item = asked[len(known) + len(absent)].given
            absent[item] = refusal.extra.get("proches", ())
            refusal = None
        elif last.content is not None:
            societe = _identity(last.content, call.context.product)["societe"]
            known.append(results.shorten_to_fit(societe, _LARGEST_RECORD))
    return results.tool_result(last._replace(error=refusal), document())


def _companies(pairs: Pairs, generation: OpenGeneration) -> Sequence[AskedCompany]:
    """The companies to read. Raises ApiError 400."""
    items = values.items([text for _, text in pairs], RECORDS)
    if not items:
        raise values.missing_value(RECORDS)
    return values.companies(items, generation.names)


def _of_company(request: Request) -> Request:
    """The request of a route below a company, which its arguments name."""
    named = (
        results.argument_value(request.pairs, "iso2"),
        results.argument_value(request.pairs, "id"),
    )
    return replace(request, segments=named, read=tuple)


def _wanted_parts(pairs: Pairs, names: PlaceNames) -> _WantedStatements:
    given = {
        one.name: values.value([text], one, names)
        for one in (STATEMENTS, YEAR)
        for name, text in pairs
        if name == one.name
    }
    year = given.get(YEAR.name)
    return _WantedStatements(STATEMENTS.name in given or year is not None, year)


def _prepare_record(
    request: Request, generation: OpenGeneration, wanted: _WantedStatements
) -> PreparedCall[Fiche]:
    """The record, or only the identity if no statements are requested."""
    if not wanted.statements:
        return identite(request, generation)
    if request.caller.plan.etats_financiers:
        years = exercices(request, generation)
        if years and wanted.year not in (None, *years):
            raise _no_such_year(wanted.year, [str(year) for year in years])
    return societe(request, generation)


def _no_such_year(year: int | None, years: Sequence[str]) -> ApiError:
    return errors.invalid_parameter(
        YEAR.name, "pas_d_exercice", year=year, known=", ".join(years), valeurs=years
    )


def _identity(record: Fiche, product: Product) -> dict[str, Any]:
    """The company and the plan of a record."""
    return RECORD.document(replace(record, comptes=ABSENT, comptes_message=ABSENT), product)


def _add_statements(
    shown: dict[str, Any], record: Fiche, result: Result[Fiche], year: int | None
) -> None:
    """Add the statements that fit, and a note about the others."""
    if record.comptes_message:
        shown["note"] = _NEEDS_CREDITS if result.status == _NO_CREDITS else _NEEDS_KEY
        return
    lines = [line for line in record.lines() if year in (None, line["exercice"])]
    fitting = results.longest_fitting(
        lines, lambda kept: {**shown, "comptes": _by_statement(kept), "note": _YEARS_LEFT_OUT}
    )
    shown["comptes"] = _by_statement(fitting)
    if not lines:
        shown["note"] = "No statements of this company are published here."
    elif len(fitting) < len(lines):
        of_year = f"Not all lines fit into one answer. {_WHOLE_RECORD}"
        shown["note"] = _YEARS_LEFT_OUT if year is None else of_year


def _by_statement(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The lines by year and statement, in their order (E5); shared values stand once."""
    shared = groupby(lines, key=lambda line: (line["exercice"], line["etat"], line["devise"]))
    return [
        _known({"exercice": exercice, "etat": etat, "devise": devise})
        | {"lignes": [_line(line) for line in kept]}
        for (exercice, etat, devise), kept in shared
    ]


def _line(line: Mapping[str, Any]) -> dict[str, Any]:
    return _known({"code": line["code"], "libelle": label_of(line), "valeur": line["valeur"]})


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


TOOLS: Final = (
    Tool(
        "read_company",
        read,
        RECORD,
        {"comptes": _STATEMENTS, **tool_list.CREDITS, **tool_list.NOTE},
        COMPANY,
        ("iso2", "id"),
        brief=False,
        place=100,
    ),
    Tool(
        "read_companies",
        read_several,
        SEVERAL,
        tool_list.NOTE,
        COMPANIES,
        ("ids",),
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
