"""The schemas of the matching of lists (extensions X5): the lines that are sent, and their answers. Pure."""

from typing import Final

from serve.contract.limits import MOST_LINES
from serve.guests.docs.openapi.schema import (
    Schema,
)
from serve.request.line_list import DEFAULT_CANDIDATES, LONGEST, MOST_CANDIDATES
from shards.codec.record import FIELDS as COMPANY_FIELDS

_GIVEN: Final = {
    "cle": "Key of the line, by which its answer is known. Must be given, once each.",
    "nom": "Name, with or without its legal form.",
    "pays": "Countries it may be in, as codes or French or English names, separated by commas; any if absent.",
    "id": "Registration number, in any spelling.",
    "tva": "VAT number.",
    "ville": "Town.",
    "code_postal": "Postcode.",
    "date_creation": "Date of creation, in any notation that means one day, month or year: "
    "`13/12/1968`, not `03/04/1968`.",
    "adresse": "Street and number.",
    "activite": "Activity: a code of the NACE, or words.",
    "site_web": "Website.",
    "email": "E-mail address; only its domain is compared.",
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
        "colonnes": {
            "type": ["array", "string", "null"],
            "description": "Fields of the company whose values are sent with a line that is `sur` "
            "or `probable`; contacts by right.",
            "items": {"type": "string", "enum": list(COMPANY_FIELDS)},
        },
        "version": {"type": ["string", "null"], "description": "Generation that must answer."},
    },
    "required": ["lignes"],
    "additionalProperties": False,
}

SHAPES: Final[dict[str, Schema]] = {"DemandeRapprochement": BODY}
