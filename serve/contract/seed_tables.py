"""The tables of `seeds/` that the server reads, and the prices in credits (§4.5, X0, X11)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from seeds import TABLES
from serve.contract.text import read_rows
from shards.codec.folding import fold
from shards.matching.legal_forms import LegalForms
from shards.matching.name_tables import NameTables
from shards.matching.verdicts import Weights
from shards.search.written_numbers import NumberNotation


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """Units of a currency per euro, and the source of the rate."""

    taux: float
    source: str


@dataclass(frozen=True, slots=True)
class Attribution:
    """The words that a licence demands, by language; `adresse` is the URL of the licence."""

    attribution: Mapping[str, str]
    licence: str
    adresse: str


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a table of `seeds/`, by column. The server reads all tables with this function except plans.csv."""
    return read_rows(TABLES / name)


@cache
def name_tables() -> NameTables:
    """The tables with which company names are compared: legal forms, abbreviations, numbers, letters and others."""
    return NameTables(
        LegalForms(rows("formes_juridiques.csv"), rows("parties_de_formes.csv"), rows("elf.csv")),
        rows("abreviations.csv"),
        rows("nombres.csv"),
        rows("lettres.csv"),
        rows("parentes.csv"),
        rows("messageries.csv"),
        rows("remarques.csv"),
    )


@cache
def match_weights() -> Weights:
    """The weights of evidence in the matching of lists."""
    return Weights.load_rows(rows("rapprochement.csv"), rows("rapprochement_notes.csv"))


@cache
def number_notation() -> NumberNotation:
    """The notations in which people write company numbers, for finding the identifiers in them (X6, X19)."""
    return NumberNotation.load_rows(
        rows("numeros.csv"),
        rows("mentions.csv"),
        rows("icd.csv"),
        rows("valeurs_absentes.csv"),
        rows("tribunaux.csv"),
        rows("pays.csv"),
        rows("noms_de_pays.csv"),
    )


@cache
def country_names() -> Mapping[str, tuple[str, str]]:
    """The French and English name of each country that the service has, by its code."""
    return {row["iso2"]: (row["nom_fr"], row["nom_en"]) for row in rows("pays.csv")}


def label(champ: str, iso2: str, value: str, lang: str) -> str | None:
    """The French or English words for a published value of `forme` or `statut`, or for an `etat`.

    None if no table has the value. Values are compared folded (contract B15); a row of the country comes first.

    >>> label("forme", "SE", "AKTIEBOLAG", "en"), label("etat", "FR", "cessee", "fr")
    ('Limited company', 'Cessée')
    """
    folded, labels = fold(value), _labels()
    words = labels.get((champ, iso2, folded)) or labels.get((champ, "", folded))
    return words[lang] if words else None


@cache
def form_labels(forme: str) -> tuple[str, str]:
    """The French and English words for a legal form, if all countries agree; else the form itself.

    >>> form_labels("AKTIEBOLAG")
    ('Société par actions', 'Limited company')
    """
    folded = fold(forme)
    labels = {
        (words["fr"], words["en"])
        for (champ, _, value), words in _labels().items()
        if champ == "forme" and value == folded
    }
    return labels.pop() if len(labels) == 1 else (forme, forme)


@cache
def _labels() -> Mapping[tuple[str, str, str], Mapping[str, str]]:
    """The words of libelles.csv by language; the keys are field, country ("" for all) and folded value."""
    return {
        (row["champ"], row["iso2"], fold(row["valeur"])): {
            "fr": row["libelle"],
            "en": row["libelle_en"],
        }
        for row in rows("libelles.csv")
    }


@cache
def nace_labels() -> Mapping[str, tuple[str, str]]:
    """The French and English labels of divisions, groups and classes of NACE: "56", "56.1", "56.10".

    Both revisions are included: a company has the code of the revision that its register uses. A code of both
    revisions has the label of Rev. 2.
    """
    levels = ("divisions", "groups", "classes")
    tables = (f"nace_{level}{revision}.csv" for level in levels for revision in ("_rev21", ""))
    return {
        row["code"]: (row["label_fr"], row["label_en"]) for table in tables for row in rows(table)
    }


def activity_labels(code: str) -> tuple[str, str]:
    """The French and English labels of a NACE code; for an unknown code, the code itself."""
    return nace_labels().get(code, (code, code))


def activity_label(code: str | None, lang: str) -> str | None:
    """The label of a NACE division, group or class; None for another code.

    >>> activity_label("56.10", "en"), activity_label(None, "fr")
    ('Restaurants and mobile food service activities', None)
    """
    labels = nace_labels().get(code or "")
    return labels[lang == "en"] if labels else None


@cache
def sections_in_english() -> Mapping[str, str]:
    """The English name of each NACE section, by its French name (`grand_secteur`)."""
    return {row["grand_secteur"]: row["grand_secteur_en"] for row in rows("secteurs.csv")}


@cache
def line_labels() -> Mapping[str, tuple[str, str]]:
    """The French and English labels of the lines of the chart of accounts, including group accounts."""
    labels = {row["code"]: (row["libelle_fr"], row["libelle_en"]) for row in rows("postes.csv")}
    groups = {
        f"{code}Consolidated": (f"{french} (groupe)", f"{english} (group)")
        for code, (french, english) in labels.items()
    }
    return {**groups, **labels}


@cache
def aggregates() -> frozenset[tuple[str, str]]:
    """The statement lines (etat, code) that are sums of other lines, in accounts of companies and groups."""
    sums = [row for row in rows("postes.csv") if row["somme"] == "1"]
    return frozenset(
        (row["etat"], row["code"] + suffix) for row in sums for suffix in ("", "Consolidated")
    )


@cache
def rates() -> Mapping[tuple[str, int], ExchangeRate]:
    """Annual average rates by currency and year; the build computes `ca_eur` with them."""
    return {
        (row["devise"], int(row["annee"])): ExchangeRate(float(row["taux"]), row["source"])
        for row in rows("taux.csv")
    }


@cache
def score_points() -> Mapping[str, int]:
    """The points that each known field of a company adds to its score."""
    return {row["champ"]: int(row["points"]) for row in rows("score.csv")}


@cache
def attributions() -> tuple[Attribution, ...]:
    """The attributions that the licences of all registers demand, each once."""
    attributions_by_text = {
        row["attribution_fr"]: Attribution(
            {"fr": row["attribution_fr"], "en": row["attribution_en"]},
            row["licence"],
            row["licence_url"],
        )
        for row in rows("sources.csv")
    }
    return tuple(attributions_by_text.values())


# The price of a record with statements, charged once a calendar month for a company (§4.5, X0).
RECORD_CREDITS: Final = 5

# The placeholder of a price in a text.
_PRICE: Final = re.compile(r"\{prix\.(\w+)\}")


@cache
def analysis_credits() -> Mapping[str, int]:
    """The credits of an analysis by module."""
    return {row["module"]: int(row["credits"]) for row in rows("analyses.csv")}


def fill_prices(text: str) -> str:
    """Fill the prices in a text: `{prix.fiche}`, and `{prix.…}` of each module of analyses.

    >>> fill_prices("{prix.fiche} credits, {base}")
    '5 credits, {base}'
    """
    prices = {"fiche": RECORD_CREDITS, **analysis_credits()}
    return _PRICE.sub(lambda price: str(prices[price[1]]), text)
