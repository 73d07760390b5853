"""The tool `match_companies`: lines and price as in `POST /api/v1/rapprochement` (extensions X5)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve.access import admission
from serve.access.call import PreparedCall, Request
from serve.contract.declaration import JsonSchema
from serve.contract.errors import ApiError
from serve.contract.parameters import DEFAULT_CANDIDATES, LINES_PER_CALL, MOST_CANDIDATES
from serve.features.matching import line_list
from serve.features.matching.answers import Rapprochement
from serve.features.matching.rapprochement import rapprochement
from serve.generation.open_generation import OpenGeneration
from serve.surfaces.mcp import arguments, results
from serve.surfaces.mcp.pruning import ToolObject
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import Tool

# Few, because a model reads every answer; a program sends longer lists to the route.
MOST_LINES: Final = 30
_LONGEST_NAME: Final = 120  # characters of a name or a town

# The keys of a line with their descriptions for a language model.
_LINE_KEYS: Final = {
    "cle": "Key of the line, repeated in its answer; unique.",
    "nom": "Name (nom), with or without its legal form.",
    "pays": "Country, as a code or a name, or several as `FR,UK`; any if absent.",
    "id": "Registration number, in any spelling, or EUID.",
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
_TEXT: Final[JsonSchema] = {"type": "string"}
_COLUMNS: Final[JsonSchema] = {
    "type": "array",
    "items": _TEXT,
    "description": "Fields of read_company to return with each line that is sur or probable.",
}
INPUT: Final[JsonSchema] = {
    "type": "object",
    "properties": {
        "lignes": {
            "type": "array",
            "description": "Lines; each has `cle`, and `nom`, `id`, `tva` or `lei`.",
            "maxItems": MOST_LINES,
            "items": {
                "type": "object",
                "properties": {
                    name: {**_TEXT, "description": text} for name, text in _LINE_KEYS.items()
                },
                "required": ["cle"],
                "additionalProperties": False,
            },
        },
        "limite": {
            "type": "integer",
            "description": f"Most candidates of a line; {DEFAULT_CANDIDATES} by default.",
            "minimum": 1,
            "maximum": MOST_CANDIDATES,
        },
        "colonnes": _COLUMNS,
    },
    "required": ["lignes"],
    "additionalProperties": False,
}
MATCHES: Final = ToolObject(Rapprochement)

_FEWER_CANDIDATES: Final = (
    "Only the best candidates are shown, to shorten the answer: send fewer lines to see more."
)

_FEWER_VALUES: Final = (
    "The last lines have no values, to shorten the answer: send fewer lines or columns."
)


async def match(call: Request) -> ToolResult:
    """Match the lines of the arguments; the result has as many candidates and values as fit.

    Raises:
        ApiError: 400, 413: the arguments are not a list of lines; 429, 503.
    """

    def prepare(request: Request, generation: OpenGeneration) -> PreparedCall[Rapprochement]:
        """Prepare the API's call, with the arguments of the tool as its body."""
        values = arguments.coerce_arguments(call.arguments, INPUT)
        lines = values.get("lignes")
        if isinstance(lines, list) and len(lines) > MOST_LINES:
            raise ApiError("trop_de_lignes", count=len(lines), most=MOST_LINES)
        # A model may send null for an argument that it leaves out.
        body = {name: value for name, value in values.items() if value is not None}
        batch = line_list.read_document(body, generation.names)
        return rapprochement(batch, request, generation)

    await admission.admit(call)
    result = await admission.perform(call, prepare)
    assert result.content is not None  # the answer to a list has no tag, so there is no 304
    answers = MATCHES.document(result.content, call.context.product)["resultats"]
    return results.tool_result(result, _fit_answers(answers))


def _fit_answers(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The answers, with as many candidates per line as fit.

    If they do not fit with one candidate per line, values are removed too, those of the last line first.
    """
    longest = max((len(answer.get("candidats", ())) for answer in answers), default=0)
    for most_candidates in range(MOST_CANDIDATES, 0, -1):
        content: dict[str, Any] = {
            "resultats": [_first_candidates(answer, most_candidates) for answer in answers]
        }
        if most_candidates < longest:
            content["note"] = _FEWER_CANDIDATES
        if results.fits(content):
            return content
    for answer in reversed(content["resultats"]):
        if answer.pop("valeurs", None) is not None:
            content["note"] = _FEWER_VALUES
            if results.fits(content):
                break
    return content


def _first_candidates(answer: Mapping[str, Any], most_candidates: int) -> dict[str, Any]:
    """An answer with its first `most_candidates`, whose very long names are cut."""
    if "candidats" not in answer:
        return dict(answer)
    candidates = results.shorten(answer["candidats"][:most_candidates], _LONGEST_NAME)
    return {**answer, "candidats": candidates}


TOOLS: Final = (
    Tool(
        "match_companies",
        match,
        MATCHES,
        input=INPUT,
        figures={"most_lines": MOST_LINES, "lines_per_call": LINES_PER_CALL},
        place=170,
        quotes=False,
    ),
)
