"""The tool that matches a list: the lines and the price are those of the route (extensions X5)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve.access import admission
from serve.access.call import PreparedCall, Request
from serve.contract.declaration import Schema
from serve.contract.errors import ApiError
from serve.contract.parameters import DEFAULT_CANDIDATES, LINES_PER_CALL, MOST_CANDIDATES
from serve.features.matching import line_list
from serve.features.matching.answers import Rapprochement
from serve.features.matching.rapprochement import rapprochement
from serve.generation.open_generation import OpenGeneration
from serve.surfaces.mcp import arguments, results, tool_list
from serve.surfaces.mcp.pruning import ToolObject
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import Tool

# A model reads every answer; a program sends longer lists to the route.
MOST_LINES: Final = 30
_LONGEST_NAME: Final = 120  # characters of a name or a town

_LINE_KEYS: Final = {
    "cle": "Key of the line, by which its answer is known; each once.",
    "nom": "Name (nom), with or without its legal form.",
    "pays": "Its country by code or name, or several as `FR,UK`; any if absent.",
    "id": "Registration number, in any spelling, as EUID too.",
    "tva": "VAT number.",
    "ville": "Town.",
    "code_postal": "Postcode.",
    "date_creation": "In any notation; of `03/04/1968` only the year counts.",
    "adresse": "Street and number.",
    "activite": "NACE code, or words.",
    "site_web": "Website.",
    "email": "E-mail address.",
    "lei": "LEI.",
}
_TEXT: Final[Schema] = {"type": "string"}
_COLUMNS: Final[Schema] = {
    "type": "array",
    "items": _TEXT,
    "description": "Fields of read_company, wanted of the company of each line that is sur or probable.",
}
INPUT: Final[Schema] = {
    "type": "object",
    "properties": {
        "lignes": {
            "type": "array",
            "description": "Lines; each has `cle`, and `nom`, `id`, `tva` or `lei`.",
            "maxItems": MOST_LINES,
            "items": {
                "type": "object",
                "properties": {
                    name: {**_TEXT, "description": said} for name, said in _LINE_KEYS.items()
                },
                "required": ["cle"],
                "additionalProperties": False,
            },
        },
        "limite": {
            "type": "integer",
            "description": f"Candidates of a line at most; {DEFAULT_CANDIDATES} by default.",
            "minimum": 1,
            "maximum": MOST_CANDIDATES,
        },
        "colonnes": _COLUMNS,
    },
    "required": ["lignes"],
    "additionalProperties": False,
}
MATCHES: Final = ToolObject(Rapprochement)

_FEWER: Final = (
    "Only the best candidates are shown, so that the answer fits: send fewer lines for more."
)

_FEWER_VALUES: Final = (
    "The last lines are without their values, so that the answer fits: send fewer lines or columns."
)


async def match(call: Request) -> ToolResult:
    """The companies that lines mean.

    Raises:
        ApiError: 400, 413: the arguments are no list of lines; 429, 503.
    """

    def prepare(request: Request, generation: OpenGeneration) -> PreparedCall[Rapprochement]:
        given = arguments.typed(call.arguments, INPUT)
        lines = given.get("lignes")
        if isinstance(lines, list) and len(lines) > MOST_LINES:
            raise ApiError("trop_de_lignes", count=len(lines), most=MOST_LINES)
        named = {name: value for name, value in given.items() if value is not None}
        asked = line_list.of_document(named, generation.names)
        return rapprochement(asked, request, generation)

    await admission.admit(call)
    result = await admission.perform(call, prepare)
    assert result.content is not None  # a list has no tag, so there is no 304
    answers = MATCHES.document(result.content, call.context.product)["resultats"]
    return results.tool_result(result, _fit_answers(answers))


def _fit_answers(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The answers, with as many candidates each, then as many values, as fit into one message."""
    longest = max((len(one.get("candidats", ())) for one in answers), default=0)
    for most in range(MOST_CANDIDATES, 0, -1):
        shown: dict[str, Any] = {"resultats": [_first_candidates(one, most) for one in answers]}
        if most < longest:
            shown["note"] = _FEWER
        if results.fits(shown):
            return shown
    for answer in reversed(shown["resultats"]):
        if answer.pop("valeurs", None) is not None:
            shown["note"] = _FEWER_VALUES
            if results.fits(shown):
                break
    return shown


def _first_candidates(answer: Mapping[str, Any], most: int) -> dict[str, Any]:
    """An answer with `most` of its candidates, without the ends of very long names."""
    if "candidats" not in answer:
        return dict(answer)
    candidates = [
        {
            name: value[:_LONGEST_NAME] if isinstance(value, str) else value
            for name, value in candidate.items()
        }
        for candidate in answer["candidats"][:most]
    ]
    return {**answer, "candidats": candidates}


TOOLS: Final = (
    Tool(
        "match_companies",
        match,
        MATCHES,
        tool_list.NOTE,
        input=INPUT,
        figures={"most_lines": MOST_LINES, "lines_per_call": LINES_PER_CALL},
        place=170,
        quotes=False,
    ),
)
