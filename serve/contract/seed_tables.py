"""The tables of `seeds/` that a workbook is written by: fields, aggregates, rates of the euro."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from seeds import TABLES
from shards.codec.record import CONTACTS

# What the value of a field is, and so how its cell is written.
TEXT: Final = "texte"
WHOLE: Final = "entier"
AMOUNT: Final = "montant"
YEAR: Final = "annee"
DATE: Final = "date"
LINK: Final = "lien"
TRUTH: Final = "booleen"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of §2.1 as a column: its kind, and heading and definition by language."""

    champ: str
    genre: str
    title: Mapping[str, str]
    definition: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """Units of a currency for one euro, and where the rate is from."""

    taux: float
    source: str


@cache
def fields() -> tuple[Field, ...]:
    """All fields, in the order of §2.1."""
    return tuple(
        Field(
            row["champ"],
            row["genre"],
            {"fr": row["fr"], "en": row["en"]},
            {"fr": row["definition_fr"], "en": row["definition_en"]},
        )
        for row in _rows("champs.csv")
    )


def public_fields() -> tuple[Field, ...]:
    """The fields that every plan sees."""
    return tuple(field for field in fields() if field.champ not in CONTACTS)


@cache
def aggregates() -> frozenset[tuple[str, str]]:
    """The statement lines (etat, code) that sum others up."""
    return frozenset((row["etat"], row["code"]) for row in _rows("agregats.csv"))


@cache
def rates() -> Mapping[tuple[str, int], ExchangeRate]:
    """Annual average rates by currency and year, those by which `ca_eur` was made."""
    return {
        (row["devise"], int(row["annee"])): ExchangeRate(float(row["taux"]), row["source"])
        for row in _rows("taux.csv")
    }


def _rows(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
