"""The schemas of the matching of lists (extensions X5): the lines that are sent, and their answers. Pure."""

from typing import Final

from serve.contract.limits import MOST_LINES
from serve.guests.docs.openapi.schema import (
    Schema,
)
from serve.request.line_list import DEFAULT_CANDIDATES, LONGEST, MOST_CANDIDATES

_GIVEN: Final = {
    "cle": "Key of the line, by which its answer is known. Must be given, once each.",
    "nom": "Name, with or without its legal form.",
    "pays": "Countries it may be in, as codes separated by commas; any if absent.",
    "id": "Registration number, in any spelling.",
    "tva": "VAT number.",
    "ville": "Town.",
    "code_postal": "Postcode.",
    "date_creation": "Date of creation, YYYY, YYYY-MM or YYYY-MM-DD.",
}


def _value(description: str) -> Schema:
    return {"type": ["string", "number", "null"], "description": description, "maxLength": LONGEST}


BODY: Final[Schema] = {
    "type": "object",
    "description": "The lines to match.",
    "properties": {
        "lignes": {
            "type": "array",
            "description": "The lines; each needs `cle`, and `nom`, `id` or `tva`.",
            "maxItems": MOST_LINES,
            "items": {
                "type": "object",
                "properties": {name: _value(said) for name, said in _GIVEN.items()},
                "additionalProperties": False,
            },
        },
        "limite": {
            "type": "integer",
            "description": f"Candidates of a line at most. By default `{DEFAULT_CANDIDATES}`.",
            "minimum": 1,
            "maximum": MOST_CANDIDATES,
        },
        "version": {"type": ["string", "null"], "description": "Generation that must answer."},
    },
    "required": ["lignes"],
    "additionalProperties": False,
}

SHAPES: Final[dict[str, Schema]] = {"DemandeRapprochement": BODY}
