"""The answers of an operation: success, 304 and errors. Pure."""

from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from serve.contract import export_tables
from serve.contract.error_codes import CODES, of_status
from serve.contract.objects.described import component_name
from serve.contract.operation import Link, Operation
from serve.guests.docs.openapi import headers, prose
from serve.guests.docs.openapi.examples import EXAMPLES, Example
from serve.guests.docs.openapi.schema import (
    Schema,
    either,
    moment,
    one_of,
    ref,
    shape,
    text,
    texts,
    whole,
)
from serve.guests.operations import OPERATIONS

JSON: Final = "application/json"

# Every code, those of later versions included.
CODE_PATTERN: Final = "^[a-z]+(_[a-z]+)*$"

# Routes whose 401 has the visitor's payload beside `erreur` (§5 rule 4).
_REFUSED: Final = {one.route for one in OPERATIONS if one.refused}

# The keys that may stand beside `erreur` (G6).
EXTRA: Final[Mapping[str, Schema]] = {
    "pays_inconnus": texts("Countries that are unknown."),
    "secteurs_inconnus": texts("Sectors that are unknown."),
    "sous_secteurs_inconnus": texts("Sub-sectors that are unknown."),
    "formes_inconnues": texts("Legal forms that are unknown."),
    "nace_inconnus": texts("NACE codes that are unknown."),
    "activites_inconnues": texts("Words that name no activity."),
    "suggestions": {
        "type": "object",
        "description": "For an unknown value, those that may have been meant.",
        "additionalProperties": {"type": "array", "items": {"type": "string"}},
    },
    "parametre": text("Parameter that cannot be used."),
    "valeurs": texts("Values that it may have."),
    "parametres_inconnus": texts("Parameters that are unknown."),
    "parametres_admis": texts("Parameters that the route has."),
    "proches": texts("The nearest companies, as country and identifier (`UK:00944111`)."),
    "credits": ref("Credits"),
    "quota": ref("Quota"),
    "module": text("Module that the plan lacks."),
    "offre": text("Plan that opens the module."),
    "version": text("Generation that was asked for."),
    "versions": texts("Generations that can be asked for."),
    "analyses": whole("Analyses that the trial allows."),
    "reinitialisation": moment("When it begins anew"),
}

_HEADERS: Final[Mapping[int, tuple[str, ...]]] = {
    400: headers.CALLS,
    401: ("WWW-Authenticate", *headers.CALLS),
    402: ("Content-Location", *headers.CALLS, *headers.CREDITS),
    403: (*headers.CALLS, *headers.CREDITS),
    404: headers.CALLS,
    409: headers.CALLS,
    429: ("Retry-After", *headers.CALLS),
    503: ("Retry-After",),
}
_ERRORS: Final = ("Cache-Control", "Content-Language", "Vary", "X-Donnees-Version")

# Statuses with which an operation may refuse, as `components/responses`.
STATUSES: Final = (400, 401, 402, 403, 404, 406, 409, 413, 414, 415, 429, 500, 503)


def answer(
    description: str, schema: Schema, names: tuple[str, ...], *examples: str, kind: str = JSON
) -> Schema:
    """A 200 with a body and headers; `examples` are names of serve/guests/docs/openapi/examples.py."""
    content: Schema = {"schema": schema}
    if examples:
        content["examples"] = {name: ref(name, "examples") for name in examples}
    return {
        "description": description,
        "headers": headers.references(*names),
        "content": {kind: content},
    }


def with_links(made: Schema, links: Sequence[Link]) -> Schema:
    """An answer with the calls that can be made with its values (OpenAPI §4.8.20)."""
    told = {
        link.name: {"operationId": link.operation, "parameters": dict(link.given)} for link in links
    }
    return {**made, "links": told}


def not_modified(*names: str) -> Schema:
    """A 304, which has no body and is not counted."""
    return {
        "description": "The caller has this answer already (`If-None-Match`); it costs nothing.",
        "headers": headers.references(*headers.TAGGED, *names),
    }


def export_file() -> Schema:
    """The 200 of an export: a schema per media type; the columns are those of two schemas (X7)."""
    names = ("Content-Disposition", "Cache-Control", "Vary", "Link", "X-Donnees-Version")
    binary: Schema = {"type": "string", "format": "binary"}
    line: Schema = {
        "type": "string",
        "contentMediaType": JSON,
        "contentSchema": either(ref("Societe"), ref("LigneComptesExportee")),
    }
    kinds = {name: kind.partition(";")[0] for name, kind in export_tables.MEDIA_TYPES.items()}
    made = answer(prose.EXPORT_FILE, binary, (*names, *headers.EXPORT, *headers.METER))
    made["content"] = {
        kinds[export_tables.WORKBOOK]: {"schema": binary},
        kinds[export_tables.CSV]: {"schema": {"type": "string"}},
        kinds[export_tables.NDJSON]: {"schema": line},
        kinds[export_tables.PARQUET]: {"schema": binary},
        export_tables.ZIP: {"schema": binary},
    }
    return made


def refusals(operation: Operation, statuses: Collection[int]) -> dict[str, Schema]:
    """The errors of an operation."""
    found = common_refusals(statuses)
    if operation.refused:
        shown = either(ref(component_name(operation.refused)), ref("Erreur401"))
        found["401"] = _error_answer(401, shown, operation.route)
    if operation.unavailable:
        # If the counters cannot be kept, the public identity is served and not charged (D10, G9).
        shown = either(ref(component_name(operation.unavailable)), ref("Erreur503"))
        found["503"] = _error_answer(503, shown)
        found["503"]["headers"] |= headers.references("Content-Location")
    if operation.kind == "analysis":  # nothing is left to show
        found["402"] = _error_answer(402, ref("Erreur402"), operation.route)
    return found


def common_refusals(statuses: Collection[int]) -> dict[str, Schema]:
    """Errors as every operation has them; each may also answer 414 (a long request line) and 500."""
    return {str(one): ref(f"Erreur{one}", "responses") for one in sorted({*statuses, 414, 500})}


def components() -> tuple[dict[str, Schema], dict[str, Schema]]:
    """The schemas and the responses of the errors, by name."""
    schemas = {f"Erreur{status}": _error(status) for status in STATUSES}
    responses = {
        f"Erreur{status}": _error_answer(
            status, ref("FicheEpuisee" if status == 402 else f"Erreur{status}")
        )
        for status in STATUSES
    }
    return schemas, responses


def _error(status: int) -> Schema:
    codes = of_status(status)
    keys = {key for code in codes for key in CODES[code].extra}
    if status == 401:
        # A 401 also has the other faults of a call (contract A1).
        others = (*of_status(400), *of_status(404))
        keys |= {key for code in others for key in CODES[code].extra}
    erreur = shape(
        "What went wrong; `code` is for programs, `message` for people.",
        {
            "code": {**one_of("Code of the error.", *codes), "pattern": CODE_PATTERN},
            "message": text("What it is, and what to do."),
        },
    )
    extra = {key: schema for key, schema in EXTRA.items() if key in keys}
    return shape(_meanings(status), {"erreur": erreur, **extra}, tuple(extra))


def _error_answer(status: int, schema: Schema, route: str = "") -> Schema:
    content: dict[str, Any] = {"schema": schema}
    examples = [
        name
        for name, example in EXAMPLES.items()
        if example.status == status and _place(example) == route
    ]
    if examples:
        content["examples"] = {name: ref(name, "examples") for name in examples}
    return {
        "description": _meanings(status),
        "headers": headers.references(*_ERRORS, *_HEADERS.get(status, ())),
        "content": {JSON: content},
    }


def _place(example: Example) -> str:
    """The route of an example of an answer that only this route has; "" for a common answer."""
    return example.route if example.status == 401 and example.route in _REFUSED else ""


def _meanings(status: int) -> str:
    meanings = "; ".join(f"`{code}`: {CODES[code].meaning.en}" for code in of_status(status))
    return f"{HTTPStatus(status).phrase}. {meanings}."
