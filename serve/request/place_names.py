"""The words for countries, sectors, sub-sectors and legal forms that callers may send, and their codes.

They are read once per generation from its tables, so that a request only looks words up.
The rules (B1, B11): a country is its code in any case, and `GB` means `UK`; a sector is its exact
French label, or its slug in any case; a sub-sector is its exact French label; a legal form is itself.
Every other spelling is unknown, and only leads to suggestions in the error (B3). Pure.
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

# A caller chooses the words that get suggestions, and difflib is quadratic in the length of a word.
_WORDS: Final = 3  # unknown values that get suggestions
_EACH: Final = 3  # suggestions for a value
_LONGEST: Final = 160  # characters; the longest label of a sector has 138
_ALIKE: Final = 0.6  # difflib's ratio, its own default
_NUMBER: Final = 3  # digits of the number of a country (ISO 3166-1)


@dataclass(frozen=True, slots=True)
class PlaceNames:
    """The lookups of one generation. Sector codes are NACE divisions and groups (shards/query.py)."""

    pays: tuple[str, ...]  # codes, in the order of the reference
    labels: Mapping[str, str]  # French label of a sector, NFC -> division
    slugs: Mapping[str, str]  # slug of a sector -> division
    sous_secteurs: Mapping[str, tuple[tuple[str, str], ...]]  # label, NFC -> (division, group)s
    pays_alike: Mapping[
        str, str
    ]  # folded code, slug, French or English name -> code, for suggestions
    pays_named: Mapping[str, str]  # folded code or name in any language -> code, of every country
    secteurs_alike: Mapping[str, str]  # folded label or slug -> slug
    sous_secteurs_alike: Mapping[str, str]  # folded label -> label
    formes: frozenset[str]  # legal forms, NFC
    formes_alike: Mapping[str, str]  # folded legal form -> legal form

    def country(self, word: str) -> str | None:
        """The code of the country that `word` names, or None."""
        code = word.strip().upper() if word.isascii() else ""  # "ı" and "ﬁ" have capitals too
        code = SPELLINGS.get(code, code)
        return code if code in self.pays else None

    def named_country(self, text: str) -> str | None:
        """The code of a country by one of its codes or names, as people write it (X19); of any country, or None.

        An ISO number may have lost its zeros.
        """
        code = self.country(text)
        if code is not None:
            return code
        folded = fold(text)
        return self.pays_named.get(folded.zfill(_NUMBER) if folded.isdigit() else folded)

    def sector(self, word: str) -> str | None:
        """The NACE division of a label (exact) or a slug (any case), or None."""
        return self.labels.get(nfc(word)) or self.slugs.get(word.lower())

    def sub_sectors(self, label: str, secteurs: Sequence[str]) -> list[str] | None:
        """The groups with that label within `secteurs` (B10), possibly none; None if it is unknown."""
        pairs = self.sous_secteurs.get(nfc(label))
        if pairs is None:
            return None
        return [group for division, group in pairs if division in secteurs]


def read(reference: Reference, formes: Iterable[str] = ()) -> PlaceNames:
    """The words that the reference tables of a generation define, and its legal forms."""
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
        pays_named={**_named_countries()} | _countries_by_word(reference),
        secteurs_alike={
            fold(word): secteur.slug
            for secteur in reference.secteurs
            for word in (secteur.secteur, secteur.secteur_en, secteur.slug)
        },
        sous_secteurs_alike={fold(label): label for label in pairs},
        formes=frozenset(map(nfc, formes)),
        formes_alike={fold(forme): nfc(forme) for forme in formes},
    )


def known_country(names: PlaceNames, word: str) -> str:
    """The code of a country. Raises ApiError 400 `pays_inconnu` (E1)."""
    iso2 = names.country(word)
    if iso2 is None:
        raise unknown_countries([word], names)
    return iso2


def unknown_countries(
    words: Sequence[str],
    names: PlaceNames,
    alike: Mapping[str, Sequence[str]] | None = None,
    **others: Any,
) -> ApiError:
    """The error for words that are no codes of countries of the base (B3).

    Args:
        alike: suggestions for the words of `others`.
    """
    meant = {word: names.named_country(word) for word in words[:_WORDS]}
    suggested = {
        word: [code] if code in names.pays else nearest_values(word, names.pays_alike)
        for word, code in meant.items()
    }
    proposals = suggested | dict(alike or {})
    named = seed_tables.country_names()
    codes = dict.fromkeys(
        code for word in words for code in proposals.get(word, ()) if code in named
    )
    if not codes:
        return ApiError("pays_inconnu", pays_inconnus=words, suggestions=proposals, **others)
    proposed = Text(
        *(", ".join(f"{named[code][place]} ({code})" for code in codes) for place in (0, 1))
    )
    return ApiError(
        "pays_inconnu_propose",
        pays_inconnus=words,
        suggestions=proposals,
        meant=proposed,
        **others,
    )


def places(
    names: PlaceNames,
    pays: Sequence[str],
    secteurs: Sequence[str],
    sous_secteurs: Sequence[str],
) -> dict[str, Any]:
    """The conditions of a Query on countries, sectors and sub-sectors, which words name.

    Raises:
        ApiError: 400 `pays_inconnu` or `secteur_inconnu`, which reports all unknown words (B4); `parametre_invalide`
            for sub-sectors without a sector.
    """
    countries, no_country = _codes(pays, names.country)
    divisions, no_sector = _codes(secteurs, names.sector)
    groups, no_sub_sector = _groups(sous_secteurs, divisions, names)
    if no_country or no_sector or (no_sub_sector and secteurs):
        raise _unknown_words(no_country, no_sector, no_sub_sector, names)
    if sous_secteurs and not secteurs:
        raise errors.invalid_parameter(SOUS_SECTEUR.name, "avec_secteur")
    conditions: dict[str, Any] = {"pays": countries, "secteurs": divisions}
    return conditions | ({"sous_secteurs": groups} if sous_secteurs else {})


def _unknown_words(
    no_country: Sequence[str],
    no_sector: Sequence[str],
    no_sub_sector: Sequence[str],
    names: PlaceNames,
) -> ApiError:
    alike = suggestions(no_sector, names.secteurs_alike) | suggestions(
        no_sub_sector, names.sous_secteurs_alike
    )
    if no_country:
        others = {"secteurs_inconnus": no_sector, "sous_secteurs_inconnus": no_sub_sector}
        unknown_words = {name: unknown for name, unknown in others.items() if unknown}
        return unknown_countries(no_country, names, alike, **unknown_words)
    if not no_sub_sector:
        return ApiError("secteur_inconnu", suggestions=alike, secteurs_inconnus=no_sector)
    return ApiError(
        "secteurs_inconnus" if no_sector else "sous_secteur_inconnu",
        suggestions=alike,
        secteurs_inconnus=no_sector,
        sous_secteurs_inconnus=no_sub_sector,
    )


def _codes(
    words: Sequence[str], meaning: Callable[[str], str | None]
) -> tuple[tuple[str, ...], list[str]]:
    """The codes that `words` mean, sorted, without duplicates; and the words without a meaning."""
    if not words:
        return (), []
    codes = {word: meaning(word) for word in words}
    known = {code for code in codes.values() if code is not None}
    return tuple(sorted(known)), [word for word, code in codes.items() if code is None]


def _groups(
    labels: Iterable[str], divisions: Sequence[str], names: PlaceNames
) -> tuple[tuple[str, ...], list[str]]:
    """The groups of `labels` within `divisions` (B10), possibly none (B9); and the unknown labels."""
    found = {label: names.sub_sectors(label, divisions) for label in labels}
    known = {group for groups in found.values() for group in groups or ()}
    return tuple(sorted(known)), [label for label, groups in found.items() if groups is None]


def suggestions(words: Iterable[str], known: Mapping[str, str]) -> dict[str, list[str]]:
    """Suggestions for the first three of `words`, from `known` (folded spelling -> value).

    >>> suggestions(["FRA"], {"fr": "FR", "france": "FR", "allemagne": "DE"})
    {'FRA': ['FR']}
    """
    return {word: nearest_values(word, known) for word in list(words)[:_WORDS]}


def nearest_values(word: str, known: Mapping[str, str]) -> list[str]:
    """At most three values of `known`: first those whose spelling contains `word`, then similar ones.

    A spelling whose value is "" has none to suggest.

    >>> nearest_values("paris", {"pays": "pays", "tri": "tri"})
    ['pays']
    """
    folded = fold(word[:_LONGEST])
    if not folded:
        return []
    if folded in known:
        return [known[folded]] if known[folded] else []
    within = [spelling for spelling in known if len(folded) > 2 and folded in spelling]
    alike = get_close_matches(folded, known, n=_EACH, cutoff=_ALIKE)
    values = dict.fromkeys(known[spelling] for spelling in (*within, *alike) if known[spelling])
    return list(values)[:_EACH]


def _countries_by_word(reference: Reference) -> dict[str, str]:
    return {
        fold(word): pays.iso2
        for pays in reference.pays
        for word in (pays.iso2, pays.slug, pays.nom_fr, pays.nom_en)
    }


@cache
def _named_countries() -> Mapping[str, str]:
    return {fold(row["nom"]): row["iso2"] for row in seed_tables.rows("noms_de_pays.csv")}


def nfc(text: str) -> str:
    """The text in NFC, as the data have it."""
    # A label typed on a Mac may arrive decomposed; it is the same label (B11).
    return unicodedata.normalize("NFC", text)
