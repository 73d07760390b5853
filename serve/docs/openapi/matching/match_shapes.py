"""The schemas of the matching of lists (extensions X5): the lines that are sent, and their answers. Pure."""

from typing import Final

from serve.contract.reasons import RAISONS
from serve.docs.openapi.schema import (
    Schema,
    array,
    either,
    nullable,
    number,
    one_of,
    ref,
    shape,
    text,
    texts,
)
from serve.request.line_list import DEFAULT_CANDIDATES, LONGEST, MOST_CANDIDATES, MOST_LINES
from shards.search.matching.line import AMBIGUOUS, LIKELY, NONE, SURE

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

_CANDIDATE: Final = shape(
    "A company that the line may mean.",
    {
        "iso2": text("Country."),
        "id": text("Identifier."),
        "nom": text("Name."),
        "ville": nullable(text("Town.")),
        "code_postal": nullable(text("Postcode.")),
        "etat": nullable(text("State: `active`, `procedure`, `cessee` or `inconnu`.")),
        "note": number(
            "Probability that the line means this company, calibrated on names of real registers.",
            minimum=0,
            maximum=1,
        ),
        "raisons": texts("What agrees and what differs, in the language of `Accept-Language`."),
        "raisons_codes": array(
            one_of("Code of a reason.", *RAISONS), "Their codes, in that order."
        ),
    },
)
_ANSWER: Final = shape(
    "The answer to a line that was matched.",
    {
        "cle": text("Key of the line."),
        "verdict": text(
            "`sur`: this company; `probable`: more likely than not; `ambigu`: one of several; "
            "`aucun`: none that is likely.",
            examples=[SURE, LIKELY, AMBIGUOUS, NONE],
        ),
        "candidats": array(ref("Candidat"), "Companies, the likeliest first."),
    },
)
_LINE_ERROR: Final = shape(
    "The answer to a line that cannot be matched, which costs nothing.",
    {"cle": nullable(text("Key of the line, if it has one.")), "erreur": ref("Erreur")},
)
_RESULT: Final[dict[str, Schema]] = {
    "resultats": array(
        either(ref("LigneRapprochee"), ref("LigneRefusee")), "An answer for each line, in order."
    )
}

SHAPES: Final[dict[str, Schema]] = {
    "DemandeRapprochement": BODY,
    "Candidat": _CANDIDATE,
    "LigneRapprochee": _ANSWER,
    "LigneRefusee": _LINE_ERROR,
    "Rapprochement": shape("The answers.", _RESULT),
    "RapprochementRefuse": shape(
        "The answers that a visitor gets, and why they are no more: the key is not valid.",
        {**_RESULT, "erreur": ref("Erreur")},
    ),
}
