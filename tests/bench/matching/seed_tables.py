"""The tables and weights of the matcher, as `seeds/` has them. Needs no library of the bench."""

import csv

from seeds import TABLES
from shards.search.matching.company_numbers import Derivation
from shards.search.matching.legal_forms import LegalForms
from shards.search.matching.name_tables import NameTables
from shards.search.matching.probability import Weights


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a table of `seeds/`."""
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def tables() -> NameTables:
    """The tables of names, of `seeds/`."""
    return NameTables(
        LegalForms(rows("formes_juridiques.csv"), rows("parties_de_formes.csv"), rows("elf.csv")),
        rows("abreviations.csv"),
        rows("nombres.csv"),
        rows("lettres.csv"),
        rows("parentes.csv"),
        rows("messageries.csv"),
        rows("remarques.csv"),
    )


def derivations() -> tuple[Derivation, ...]:
    """How numbers contain identifiers, of `seeds/`."""
    return Derivation.of_rows(rows("numeros.csv"))


def weights() -> Weights:
    """The weights of `seeds/`."""
    return Weights.of_rows(rows("rapprochement.csv"), rows("rapprochement_notes.csv"))
