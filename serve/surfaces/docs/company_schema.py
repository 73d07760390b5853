"""The schema of a company (§2.1), whose record is stored JSON. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve.contract import company_fields
from serve.contract.declaration import KnownValues, with_keywords
from serve.contract.json_schema import Schema, schema
from serve.contract.text import Lang, Text
from shards.codec.record import CONTACTS
from shards.query import STATES

_DATE: Final = r"^\d{4}(-\d{2}(-\d{2})?)?$"
_COMPANY: Final = Text(
    "Une société. Chaque champ y est avec toute offre, null là où il n’est pas connu.",
    "A company (société). Every field is there on every plan, null where it is not known.",
)
_CONTACT: Final = Text(
    " Null sans le droit aux coordonnées (`coordonnees`) ; jamais approché.",
    " Null without the contact right (`coordonnees`); never approximated.",
)
_TYPES: Final[Mapping[str, Any]] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": Sequence[str],
}  # fmt: skip


def company(lang: Lang) -> Schema:
    """A company, with texts in `lang`: the fields in the order in which they are served.

    §2.1: "all fields are optional in the schema".
    """
    fields = {field.champ: _field(field, lang) for field in company_fields.fields()}
    return {"type": "object", "description": _COMPANY.in_language(lang), "properties": fields}


def _field(field: company_fields.Field, lang: Lang) -> Schema:
    """The schema of a field of a company (serve/contract/tables/fields.csv)."""
    # As in the other texts of documents, an apostrophe is a typographic one.
    french = field.definition["fr"].replace("'", "’")
    contact = _CONTACT if field.champ in CONTACTS else Text("", "")
    text = Text(f"{french}.{contact.fr}", f"{field.definition['en']}.{contact.en}")
    if field.champ == "etat":
        return schema(str, lang, [KnownValues(STATES), text])
    if field.genre == company_fields.DATE:
        return schema(str | None, lang, [with_keywords(pattern=_DATE), text])
    # §2.1 says `number`, though every score is whole today.
    kind = float if field.champ == "score" else _TYPES[field.json_type]
    return schema(kind | None if field.nullable else kind, lang, [text])
