"""The schema of a company (§2.1), whose record is stored JSON. Pure."""

from collections.abc import Callable, Mapping
from typing import Final

from serve.contract import seed_tables
from serve.guests.docs.openapi.schema import (
    Schema,
    nullable,
    number,
    one_of,
    shape,
    text,
    texts,
    truth,
    whole,
)
from shards.codec.record import CONTACTS

ETATS_SOCIETE: Final = ("active", "procedure", "cessee", "inconnu")

_DATE: Final = r"^\d{4}(-\d{2}(-\d{2})?)?$"
_CONTACT: Final = "Null without the contact right (`coordonnees`); never approximated."
_TYPES: Final[Mapping[str, Callable[[str], Schema]]] = {
    "string": text, "integer": whole, "number": number, "boolean": truth, "array": texts,
}  # fmt: skip


def _field(field: seed_tables.Field) -> Schema:
    """The schema of a field of a company (serve/contract/tables/fields.csv)."""
    described = f"{field.definition['en']}." + (f" {_CONTACT}" if field.champ in CONTACTS else "")
    if field.champ == "etat":
        return one_of(described, *ETATS_SOCIETE)
    if field.genre == seed_tables.DATE:
        return nullable(text(described, pattern=_DATE))
    # §2.1 says `number`, though every score is whole today.
    kind = number if field.champ == "score" else _TYPES[field.json_type]
    return nullable(kind(described)) if field.nullable else kind(described)


# In the order in which they are served (shards/codec/record.py); null if the register has no value.
FIELDS: Final[dict[str, Schema]] = {field.champ: _field(field) for field in seed_tables.fields()}

# §2.1: "all fields are optional in the schema".
SOCIETE: Final = shape(
    "A company (société). Every field is there on every plan, null where it is not known.",
    FIELDS,
    optional=tuple(FIELDS),
)
