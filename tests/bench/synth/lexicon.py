"""The tables of synthetic companies, and the tables of `seeds/` that they use, as weighted choices.

They are read once per process. The profile of a country holds its languages, forms, towns,
statuses, activity codes and shares. The lexicon of a language holds its words by rank (the table
lists the most common first) and the fragments of rare words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final
from unicodedata import normalize

import polars as pl

from pipeline import seeds
from pipeline.errors import SeedError
from pipeline.seeds import Seeds, Table, TableRow
from pipeline.stages.money import EURO
from seeds import TABLES
from tests.bench.synth import activities, identifiers
from tests.bench.synth.random_draws import Choice, choice, zipf

FOLDER: Final = Path(__file__).parent
# The columns that the tables of this folder must have, by table.
_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "vocabulaire": ("langue", "genre", "mot"),
    "gabarits": ("gabarit", "poids"),
    "langues": ("iso2", "langue", "poids"),
    "formes": ("iso2", "forme", "nom", "poids"),
    "statuts": ("iso2", "statut", "poids"),
    "villes": ("iso2", "ville", "code_postal", "region", "poids"),
    "identifiants": ("iso2", "debut", "bas", "haut", "largeur", "fin", "poids"),
    "poids_secteurs": ("nace_division", "poids"),
    "profils": ("iso2", "majuscules", "chiffre_affaires", "rue", "telephone", "domaine", "capital"),
}
# The columns that are read from tables of `seeds/`, by table.
_COLUMNS_OF_SEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "naf": ("code_naf", "code_nace"),
    "postes": ("etat", "code", "libelle_fr", "ordre"),
}
# Tables that have rows of every country.
_BY_COUNTRY: Final = ("profils", "langues", "formes", "statuts", "villes", "identifiants")
YEARS: Final = (2025, 2024, 2023, 2022, 2021)  # fiscal years, newest first
_VOWELS: Final = frozenset("aeiouyøæœаъоуеиюяαεηιουω")
_WORD_SLOPE: Final = 0.9  # of the Zipf law of common words
_SURNAME_SLOPE: Final = 0.5  # of the Zipf law of surnames


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Words of a language, capitalised; `starts`, `middles` and `ends` make rare words."""

    courant: Choice
    nom: Choice
    starts: pl.Series
    middles: pl.Series
    ends: pl.Series


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of a country.

    Attributes:
        place: its row in `pays.csv`, part of the seed.
        before: the text of each legal form before the name; `after`: the text after it.
        devises: its currency in each of YEARS; `taux`: units of it for one euro.
    """

    iso2: str
    place: int
    synthetic_n: int
    languages: Choice
    lexicons: tuple[Lexicon, ...]
    forms: Choice
    before: pl.Series
    after: pl.Series
    statuts: Choice
    villes: Choice
    codes_postaux: tuple[str, ...]
    regions: pl.Series
    codes: activities.Codes
    segments: tuple[identifiers.Segment, ...]
    majuscules: float
    avec_ca: float
    rue: str
    telephone: str
    domaine: str
    capital: float
    devise: str
    devises: tuple[str, ...]
    taux: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class World:
    """Every country, the patterns of names, and the labels of statement lines."""

    profiles: tuple[Profile, ...]
    gabarits: Choice
    lines: Mapping[tuple[str, str], TableRow]  # by (etat, code)

    def profile(self, iso2: str) -> Profile:
        """The profile of a country."""
        return next(profile for profile in self.profiles if profile.iso2 == iso2)


@cache
def load() -> World:
    """Read the tables.

    Raises:
        SeedError: a table that is missing or cannot be used.
    """
    base = seeds.read()
    tables = {
        name: seeds.read_table(folder / f"{name}.csv", columns)
        for folder, tables in ((FOLDER, _COLUMNS), (TABLES, _COLUMNS_OF_SEEDS))
        for name, columns in tables.items()
    }
    lexicons = _read_lexicons(tables["vocabulaire"])
    codes = activities.Coder(base, tables["poids_secteurs"], tables["naf"])
    profiles = tuple(
        _read_profile(place, row, base, tables, lexicons, codes)
        for place, row in enumerate(base.tables["pays"])
    )
    patterns = tables["gabarits"]
    gabarits = choice([row["gabarit"] for row in patterns], _weights(patterns))
    lines = {(row["etat"], row["code"]): row for row in tables["postes"]}
    return World(profiles, gabarits, lines)


def _read_lexicons(words: Table) -> dict[str, Lexicon]:
    """The lexicon of each language, from the table of words."""
    words_by_language: dict[str, dict[str, list[str]]] = {}
    for row in words:
        genres_of_language = words_by_language.setdefault(row["langue"], {"courant": [], "nom": []})
        genres_of_language[row["genre"]].append(row["mot"])
    return {language: _lexicon(**genres) for language, genres in words_by_language.items()}


def _lexicon(courant: list[str], nom: list[str]) -> Lexicon:
    """Collect words and their fragments; a rare word joins fragments of several words."""
    starts, middles, ends = [], [], []
    for word in filter(str.isalpha, courant + nom):
        syllable_starts = [place for place in range(1, len(word)) if _starts_syllable(word, place)]
        starts += [word[:place].capitalize() for place in syllable_starts[:2]]
        middles += [word[place:end] for place, end in pairwise(syllable_starts)]
        ends += [word[place:] for place in syllable_starts[-2:]]
    return Lexicon(
        zipf([word.capitalize() for word in courant], _WORD_SLOPE),
        zipf([word.capitalize() for word in nom], _SURNAME_SLOPE),
        *(pl.Series(list(dict.fromkeys(parts))) for parts in (starts, middles, ends)),
    )


def _starts_syllable(word: str, place: int) -> bool:
    """Whether a syllable begins at `place`: a consonant after a vowel."""
    vowel_before, vowel_here = (
        normalize("NFKD", word[at])[0] in _VOWELS for at in (place - 1, place)
    )
    return vowel_before and not vowel_here


def _read_profile(
    place: int,
    pays: TableRow,
    base: Seeds,
    tables: Mapping[str, Table],
    lexicons: Mapping[str, Lexicon],
    codes: activities.Coder,
) -> Profile:
    """The profile of a country, from its rows in all tables."""
    iso2 = pays["iso2"]
    country_tables = {name: country_rows(name, tables[name], iso2) for name in _BY_COUNTRY}
    row, forms, towns = (
        country_tables["profils"][0],
        country_tables["formes"],
        country_tables["villes"],
    )
    languages = [table_row["langue"] for table_row in country_tables["langues"]]
    patterns = [table_row["nom"].partition("{}") for table_row in forms]
    devises = tuple(_devise(row, pays["devise"], year) for year in YEARS)
    return Profile(
        iso2=iso2,
        place=place,
        synthetic_n=int(pays["synthetic_n"]),
        languages=choice(languages, _weights(country_tables["langues"])),
        lexicons=tuple(lexicons[language] for language in languages),
        forms=choice([table_row["forme"] for table_row in forms], _weights(forms)),
        before=pl.Series([before for before, _, _ in patterns]),
        after=pl.Series([after for _, _, after in patterns]),
        statuts=choice(
            [table_row["statut"] for table_row in country_tables["statuts"]],
            _weights(country_tables["statuts"]),
        ),
        villes=choice([table_row["ville"] for table_row in towns], _weights(towns)),
        codes_postaux=tuple(table_row["code_postal"] for table_row in towns),
        regions=pl.Series([table_row["region"] for table_row in towns]),
        codes=codes.notation_codes(row["notation"], french=languages[0] == "fr"),
        segments=identifiers.segments(country_tables["identifiants"], iso2),
        majuscules=float(row["majuscules"]),
        avec_ca=float(row["chiffre_affaires"]),
        rue=row["rue"],
        telephone=row["telephone"],
        domaine=row["domaine"],
        capital=float(row["capital"]),
        devise=pays["devise"],
        devises=devises,
        taux=tuple(rate(base, devise, year) for devise, year in zip(devises, YEARS, strict=True)),
    )


def country_rows(name: str, table: Table, iso2: str) -> Sequence[TableRow]:
    """The rows of a country.

    Raises:
        SeedError: a table without a row of the country.
    """
    rows = [row for row in table if row["iso2"] == iso2]
    if not rows:
        raise SeedError(f"{name}.csv has no row for {iso2}; add one")
    return rows


def _weights(rows: Sequence[TableRow]) -> list[float]:
    """The weights of the rows of a table."""
    return [float(row["poids"]) for row in rows]


def _devise(row: TableRow, devise: str, year: int) -> str:
    """The currency of accounts of a year; before the adoption of the euro, the old one."""
    return row["ancienne_devise"] if row["jusqu_en"] and year <= int(row["jusqu_en"]) else devise


def rate(base: Seeds, devise: str, year: int) -> float:
    """Units of a currency for one euro.

    Raises:
        SeedError: a currency and year without a rate.
    """
    if devise == EURO:
        return 1.0
    for row in base.tables["taux"]:
        if row["devise"] == devise and row["annee"] == str(year):
            return float(row["taux"])
    raise SeedError(f"taux.csv has no {devise} of {year}; run `python seeds/make/taux.py`")
