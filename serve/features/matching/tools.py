"""The tool that matches a list: the lines and the price are those of the route (extensions X5)."""

from collections.abc import Sequence
from typing import Any, Final

from serve.access import admission
from serve.access.call import PreparedCall, Request
from serve.contract.declaration import Schema, members
from serve.contract.errors import ApiError
from serve.contract.parameters import DEFAULT_CANDIDATES, LINES_PER_CALL, MOST_CANDIDATES
from serve.features.matching import line_list
from serve.features.matching.answers import Candidat, LigneRapprochee, LigneRefusee, Rapprochement
from serve.features.matching.rapprochement import rapprochement
from serve.generation.open_generation import OpenGeneration
from serve.surfaces.mcp import arguments, results
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import Tool
from shards.matching.line import AMBIGUOUS, LIKELY, NONE, SURE

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
_CANDIDATE: Final[Schema] = {
    "type": "object",
    "properties": {
        **{name: _TEXT for name in ("iso2", "id", "nom", "ville", "code_postal", "etat")},
        "note": {"type": "number", "description": "Probability that it is the company."},
        "raisons": {"type": "array", "items": _TEXT},
        "raisons_codes": {
            "type": "array",
            "items": _TEXT,
            "description": "Codes of the reasons, in that order: a closed list, in the API description.",
        },
    },
    "required": ["iso2", "id", "nom", "note", "raisons", "raisons_codes"],
    "additionalProperties": False,
}
OUTPUT: Final[Schema] = {
    "type": "object",
    "properties": {
        "resultats": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "cle": _TEXT,
                    "verdict": {**_TEXT, "enum": [SURE, LIKELY, AMBIGUOUS, NONE]},
                    "candidats": {"type": "array", "items": _CANDIDATE},
                    "valeurs": {"type": "object", "description": "Values of `colonnes`."},
                    "erreur": {"type": "object", "description": "Why the line is not matched."},
                },
            },
        },
        "note": {**_TEXT, "description": "What to do next, in English."},
    },
    "required": ["resultats"],
    "additionalProperties": False,
}
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
    return results.of_result(result, _fit_answers(result.content.resultats))


def _fit_answers(answers: Sequence[LigneRapprochee | LigneRefusee]) -> dict[str, Any]:
    """The answers, with as many candidates each, then as many values, as fit into one message."""
    for most in range(MOST_CANDIDATES, 0, -1):
        shown: dict[str, Any] = {"resultats": [_candidate(one, most) for one in answers]}
        if most < max((len(_candidates(one)) for one in answers), default=0):
            shown["note"] = _FEWER
        if results.fits(shown):
            return shown
    for document in reversed(shown["resultats"]):
        if document.pop("valeurs", None) is not None:
            shown["note"] = _FEWER_VALUES
            if results.fits(shown):
                break
    return shown


def _candidates(answer: LigneRapprochee | LigneRefusee) -> Sequence[Candidat]:
    return answer.candidats if isinstance(answer, LigneRapprochee) else ()


def _candidate(answer: LigneRapprochee | LigneRefusee, most: int) -> dict[str, Any]:
    shown = {name: value for name, value in members(answer).items() if value is not None}
    if isinstance(answer, LigneRefusee):
        shown["erreur"] = members(answer.erreur)
    else:
        shown["candidats"] = [
            _shorten_candidate(candidate) for candidate in answer.candidats[:most]
        ]
    return shown


def _shorten_candidate(candidate: Candidat) -> dict[str, Any]:
    """A candidate without nulls, and without the end of a very long name."""
    return {
        name: value[:_LONGEST_NAME] if isinstance(value, str) else value
        for name, value in members(candidate).items()
        if value is not None
    }


TOOLS: Final = (
    Tool(
        "match_companies",
        match,
        OUTPUT,
        input=INPUT,
        figures={"most_lines": MOST_LINES, "lines_per_call": LINES_PER_CALL},
        place=170,
        quotes=False,
    ),
)
