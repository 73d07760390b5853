"""The words for countries, sectors, sub-sectors and legal forms in requests, and their codes.

The words are read once per generation, from its tables. The rules (B1, B11): a country is its code in any case, and
`GB` means `UK`; a sector is its exact French label, or its slug in any case; a sub-sector is its exact French label; a
legal form is the exact form. Any other spelling is unknown, and only leads to suggestions in the error (B3). Pure.
"""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

from serve.contract import errors, seed_tables
from serve.contract.errors import ApiError
from serve.contract.parameters import SOUS_SECTEUR
from serve.contract.text import Text
from shards.codec.folding import SPELLINGS, fold
from shards.generations.reference import Reference

# Limits of suggestions: callers choose the words, and difflib is quadratic in the length of a word.
_MOST_WORDS: Final = 3  # the most unknown values that get suggestions
_MOST_SUGGESTIONS: Final = 3  # the most suggestions for a value
_LONGEST: Final = 160  # characters; the longest label of a sector has 138
_LEAST_RATIO: Final = 0.6  # the lowest ratio of similar words, from 0 to 1; the default of difflib
_COUNTRY_DIGITS: Final = 3  # digits of the number of a country (ISO 3166-1)


@dataclass(frozen=True, slots=True)
class PlaceNames:
    """The look-up tables of a generation. Sector codes are NACE divisions and groups (shards/query.py)."""

    pays: tuple[str, ...]  # codes, in the order of the reference
    labels: Mapping[str, str]  # French label of a sector, NFC -> division
    slugs: Mapping[str, str]  # slug of a sector -> division
    sous_secteurs: Mapping[str, tuple[tuple[str, str], ...]]  # label, NFC -> (division, group)s
    # Folded code, slug, French or English name -> code, for suggestions.
    pays_alike: Mapping[str, str]
    pays_named: Mapping[str, str]  # folded code or name in any language -> code, of every country
    secteurs_alike: Mapping[str, str]  # folded label or slug -> slug
    sous_secteurs_alike: Mapping[str, str]  # folded label -> label
    formes: frozenset[str]  # legal forms, NFC
    formes_alike: Mapping[str, str]  # folded legal form -> legal form

    def country(self, word: str) -> str | None:
        """The code of the country that `word` names, or None."""
        # Only ASCII words can be codes: "ı" and "ﬁ" have capitals in ASCII too, and would look like codes.
        code = word.strip().upper() if word.isascii() else ""
        code = SPELLINGS.get(code, code)
        return code if code in self.pays else None

    def find_country(self, text: str) -> str | None:
        """The code of any country, by a code or a name as people write it (X19); None if it is unknown.

        An ISO number may lack its leading zeros.
        """
        code = self.country(text)
        if code is not None:
            return code
        folded = fold(text)
        return self.pays_named.get(folded.zfill(_COUNTRY_DIGITS) if folded.isdigit() else folded)

    def sector(self, word: str) -> str | None:
        """The NACE division of a label (exact) or a slug (any case), or None."""
        return self.labels.get(nfc(word)) or self.slugs.get(word.lower())

    def sub_sectors(self, label: str, secteurs: Sequence[str]) -> list[str] | None:
        """The groups with this label within `secteurs` (B10), possibly empty; None if the label is unknown."""
        pairs = self.sous_secteurs.get(nfc(label))
        if pairs is None:
            return None
        return [group for division, group in pairs if division in secteurs]


def read(reference: Reference, formes: Iterable[str] = ()) -> PlaceNames:
    """The names of countries, sectors and sub-sectors that requests can use, from the reference tables of a generation.

    Args:
        formes: its legal forms.
    """
    pairs: dict[str, tuple[tuple[str, str], ...]] = {}
    for sub_sector in reference.sous_secteurs:
        label = nfc(sub_sector.sous_secteur)
        pairs[label] = (*pairs.get(label, ()), (sub_sector.secteur, sub_sector.code))
    return PlaceNames(
        pays=tuple(pays.iso2 for pays in reference.pays),
        labels={nfc(secteur.secteur): secteur.code for secteur in reference.secteurs},
        slugs={secteur.slug.lower(): secteur.code for secteur in reference.secteurs},
        sous_secteurs=pairs,
        pays_alike=_countries_by_word(reference),
        pays_named={**_countries_by_name()} | _countries_by_word(reference),
        secteurs_alike={
            fold(word): secteur.slug
            for secteur in reference.secteurs
            for word in (secteur.secteur, secteur.secteur_en, secteur.slug)
        },
        sous_secteurs_alike={fold(label): label for label in pairs},
        formes=frozenset(map(nfc, formes)),
        formes_alike={fold(forme): nfc(forme) for forme in formes},
    )


def country_code(names: PlaceNames, word: str) -> str:
    """The code of a country. Raises ApiError 400 `pays_inconnu` (E1)."""
    iso2 = names.country(word)
    if iso2 is None:
        raise unknown_countries([word], names)
    return iso2


def unknown_countries(
    words: Sequence[str],
    names: PlaceNames,
    other_suggestions: Mapping[str, Sequence[str]] | None = None,
    **other_keys: Any,
) -> ApiError:
    """The error for words that are not codes of countries of the base (B3).

    Args:
        other_suggestions: suggestions for unknown words of other kinds, such as sectors.
        other_keys: the keys of the error that report these words, such as `secteurs_inconnus`.
    """
    codes_by_word = {word: names.find_country(word) for word in words[:_MOST_WORDS]}
    suggested = {
        word: [code] if code in names.pays else nearest_values(word, names.pays_alike)
        for word, code in codes_by_word.items()
    }
    proposals = suggested | dict(other_suggestions or {})
    country_names = seed_tables.country_names()
    codes = dict.fromkeys(
        code for word in words for code in proposals.get(word, ()) if code in country_names
    )
    if not codes:
        return ApiError("pays_inconnu", pays_inconnus=words, suggestions=proposals, **other_keys)
    countries = Text(
        *(
            ", ".join(f"{country_names[code][language]} ({code})" for code in codes)
            for language in (0, 1)
        )
    )
    return ApiError(
        "pays_inconnu_propose",
        pays_inconnus=words,
        suggestions=proposals,
        meant=countries,
        **other_keys,
    )


def place_conditions(
    names: PlaceNames,
    pays: Sequence[str],
    secteurs: Sequence[str],
    sous_secteurs: Sequence[str],
) -> dict[str, Any]:
    """The conditions of a Query on countries, sectors and sub-sectors, from their words.

    Raises:
        ApiError: 400 `pays_inconnu` or `secteur_inconnu`, which reports all unknown words (B4); `parametre_invalide`
            for sub-sectors without a sector.
    """
    countries, unknown_pays = _codes_of_words(pays, names.country)
    divisions, unknown_secteurs = _codes_of_words(secteurs, names.sector)
    groups, unknown_sous_secteurs = _groups_of_labels(sous_secteurs, divisions, names)
    if unknown_pays or unknown_secteurs or (unknown_sous_secteurs and secteurs):
        raise _unknown_words(unknown_pays, unknown_secteurs, unknown_sous_secteurs, names)
    if sous_secteurs and not secteurs:
        raise errors.invalid_parameter(SOUS_SECTEUR.name, "avec_secteur")
    conditions: dict[str, Any] = {"pays": countries, "secteurs": divisions}
    return conditions | ({"sous_secteurs": groups} if sous_secteurs else {})


def _unknown_words(
    unknown_pays: Sequence[str],
    unknown_secteurs: Sequence[str],
    unknown_sous_secteurs: Sequence[str],
    names: PlaceNames,
) -> ApiError:
    """The error that reports all unknown countries, sectors and sub-sectors (B4)."""
    similar = suggestions(unknown_secteurs, names.secteurs_alike) | suggestions(
        unknown_sous_secteurs, names.sous_secteurs_alike
    )
    if unknown_pays:
        words_by_key = {
            "secteurs_inconnus": unknown_secteurs,
            "sous_secteurs_inconnus": unknown_sous_secteurs,
        }
        unknown_words = {name: unknown for name, unknown in words_by_key.items() if unknown}
        return unknown_countries(unknown_pays, names, similar, **unknown_words)
    if not unknown_sous_secteurs:
        return ApiError("secteur_inconnu", suggestions=similar, secteurs_inconnus=unknown_secteurs)
    return ApiError(
        "secteurs_inconnus" if unknown_secteurs else "sous_secteur_inconnu",
        suggestions=similar,
        secteurs_inconnus=unknown_secteurs,
        sous_secteurs_inconnus=unknown_sous_secteurs,
    )


def _codes_of_words(
    words: Sequence[str], find_code: Callable[[str], str | None]
) -> tuple[tuple[str, ...], list[str]]:
    """The codes of `words`, sorted, without duplicates; and the unknown words."""
    if not words:
        return (), []
    codes = {word: find_code(word) for word in words}
    distinct_codes = {code for code in codes.values() if code is not None}
    return tuple(sorted(distinct_codes)), [word for word, code in codes.items() if code is None]


def _groups_of_labels(
    labels: Iterable[str], divisions: Sequence[str], names: PlaceNames
) -> tuple[tuple[str, ...], list[str]]:
    """The groups of `labels` within `divisions` (B10), possibly empty (B9); and the unknown labels."""
    groups_by_label = {label: names.sub_sectors(label, divisions) for label in labels}
    distinct_groups = {group for groups in groups_by_label.values() for group in groups or ()}
    return tuple(sorted(distinct_groups)), [
        label for label, groups in groups_by_label.items() if groups is None
    ]


def suggestions(
    words: Iterable[str], values_by_spelling: Mapping[str, str]
) -> dict[str, list[str]]:
    """Suggestions for the first three of `words`, from the values by folded spelling.

    >>> suggestions(["FRA"], {"fr": "FR", "france": "FR", "allemagne": "DE"})
    {'FRA': ['FR']}
    """
    return {word: nearest_values(word, values_by_spelling) for word in list(words)[:_MOST_WORDS]}


def nearest_values(word: str, values_by_spelling: Mapping[str, str]) -> list[str]:
    """At most three values: first by spellings that contain `word`, then by similar spellings.

    A spelling with the value "" leads to no suggestion.

    >>> nearest_values("paris", {"pays": "pays", "tri": "tri"})
    ['pays']
    """
    folded = fold(word[:_LONGEST])
    if not folded:
        return []
    if folded in values_by_spelling:
        return [values_by_spelling[folded]] if values_by_spelling[folded] else []
    containing = [
        spelling for spelling in values_by_spelling if len(folded) > 2 and folded in spelling
    ]
    similar = get_close_matches(
        folded, values_by_spelling, n=_MOST_SUGGESTIONS, cutoff=_LEAST_RATIO
    )
    values = dict.fromkeys(
        values_by_spelling[spelling]
        for spelling in (*containing, *similar)
        if values_by_spelling[spelling]
    )
    return list(values)[:_MOST_SUGGESTIONS]


def _countries_by_word(reference: Reference) -> dict[str, str]:
    """The codes of the countries of the base, by folded code, slug and name."""
    return {
        fold(word): pays.iso2
        for pays in reference.pays
        for word in (pays.iso2, pays.slug, pays.nom_fr, pays.nom_en)
    }


@cache
def _countries_by_name() -> Mapping[str, str]:
    """The codes of all countries, by folded name in any language."""
    return {fold(row["nom"]): row["iso2"] for row in seed_tables.rows("noms_de_pays.csv")}


def nfc(text: str) -> str:
    """The text in NFC, the form of all texts of the data."""
    # A label typed on a Mac may be decomposed (NFD), and must match the same label of the data (B11).
    return unicodedata.normalize("NFC", text)
