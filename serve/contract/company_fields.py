"""The fields of a company: their kinds, headings and definitions (tables/fields.csv)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from serve.contract.text import TABLES, read_rows
from shards.codec.record import CONTACTS

# The kinds of a field's value, which decide the format of its cell.
TEXT: Final = "texte"
WHOLE: Final = "entier"
AMOUNT: Final = "montant"
YEAR: Final = "annee"
DATE: Final = "date"
LINK: Final = "lien"
TRUTH: Final = "booleen"
TEXTS: Final = "liste"
# The JSON types of the kinds whose values are not strings in JSON.
_JSON_TYPES: Final[Mapping[str, str]] = {
    WHOLE: "integer", YEAR: "integer", AMOUNT: "number", TRUTH: "boolean", TEXTS: "array",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a company: the kind of its values, and its heading and definition by language.

    Attributes:
        champ: its key in `Societe`.
        genre: its kind, such as TEXT.
        nullable: whether the value is null where the register has none.
        in_tools: whether tools for language models show the field in search results.
    """

    champ: str
    genre: str
    nullable: bool
    in_tools: bool
    title: Mapping[str, str]
    definition: Mapping[str, str]

    @property
    def json_type(self) -> str:
        """The JSON type of the values; the items of an `array` are strings."""
        return _JSON_TYPES.get(self.genre, "string")


@cache
def fields() -> tuple[Field, ...]:
    """The fields of a company, from `tables/fields.csv`, in the order of `Societe`."""
    return tuple(
        Field(
            row["champ"],
            row["genre"],
            row["vide"] == "1",
            row["outil"] == "1",
            {"fr": row["fr"], "en": row["en"]},
            {"fr": row["definition_fr"], "en": row["definition_en"]},
        )
        for row in read_rows(TABLES / "fields.csv")
    )


def public_fields() -> tuple[Field, ...]:
    """The fields that every plan sees."""
    return tuple(field for field in fields() if field.champ not in CONTACTS)
