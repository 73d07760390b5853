"""The body of POST /api/v1/modifications: the companies or the search to watch, and the page wanted (X8).

    {"depuis": "81c09a7b6c5d4e3f", "ids": ["UK:00944111", "EE:16325572"]}
    {"depuis": "81c09a7b6c5d4e3f", "recherche": {"pays": "FR,UK", "ca_min": 1000000}}

The filters of `recherche` are the parameters of a search; a list may be a text with separators, or an array.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from serve.contract import errors
from serve.contract.parameters import LONGEST_ID, MOST_IDS
from serve.request import json_body, params
from serve.request.params import Walk
from serve.request.place_names import PlaceNames, suggestions
from shards.query import Query

IDS: Final = "ids"
SEARCH: Final = "recherche"

# By country code: each identifier as it was sent, without the country.
Companies = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Watch:
    """What is watched: `companies`, or what a `query` finds; the other one is None."""

    walk: Walk
    companies: Companies | None
    query: Query | None

    @property
    def digest(self) -> str:
        """A digest of what the pages of one walk have in common."""
        text = repr((self.walk.depuis, self.companies, self.query)).encode()
        return blake2b(text, digest_size=4).hexdigest()


def read(raw: bytes, names: PlaceNames) -> Watch:
    """Read a body.

    Raises:
        ApiError: 400.
    """
    given: dict[str, list[Any]] = {}
    for name, value in json_body.members(raw):
        given.setdefault(name, []).append(value)
    subjects = [(name, given.pop(name)) for name in (IDS, SEARCH) if name in given]
    walk = params.walk(
        [(name, json_body.text(name, value)) for name, values in given.items() for value in values]
    )
    if len(subjects) != 1 or len(subjects[0][1]) != 1:
        why = (
            f"envoyez {IDS} ou {SEARCH}, l'un des deux et une seule fois",
            f"send {IDS} or {SEARCH}, one of the two and only once",
        )
        raise errors.parametre_invalide(IDS, why)
    ((name, (subject,)),) = subjects
    if name == IDS:
        return Watch(walk, _companies(subject, names), None)
    return Watch(walk, None, _query(subject, names))


def _query(subject: Any, names: PlaceNames) -> Query:
    if not isinstance(subject, tuple):
        example = '{"pays": "FR", "ca_min": 1000000}'
        why = (
            f"un objet de filtres est attendu, comme {example}",
            f"an object of filters is expected, such as {example}",
        )
        raise errors.parametre_invalide(SEARCH, why)
    pairs = [
        (name, json_body.text(name, one))
        for name, value in subject
        for one in (value if isinstance(value, list) else [value])
    ]
    return params.watched(pairs, names)


def _companies(subject: Any, names: PlaceNames) -> Companies:
    if not isinstance(subject, list) or not subject or len(subject) > MOST_IDS:
        sizes = (f" ; {len(subject)} sont envoyés", f"; {len(subject)} were sent")
        sent = sizes if isinstance(subject, list) else ("", "")
        why = (
            f"une liste de 1 à {MOST_IDS} identifiants est attendue, comme UK:00944111{sent[0]}",
            f"a list of 1 to {MOST_IDS} identifiers is expected, such as UK:00944111{sent[1]}",
        )
        raise errors.parametre_invalide(IDS, why)
    found: dict[str, list[str]] = {}
    unknown = []
    for one in subject:
        word, colon, identifier = str(one).partition(":")
        identifier = identifier.strip()
        if not isinstance(one, str) or not colon or not 0 < len(identifier) <= LONGEST_ID:
            shown = repr(str(one)[:100])
            why = (
                f"{shown} n'est pas de la forme pays:identifiant, comme UK:00944111",
                f"{shown} is not of the form country:identifier, such as UK:00944111",
            )
            raise errors.parametre_invalide(IDS, why)
        iso2 = names.country(word)
        if iso2 is None:
            unknown.append(word)
        else:
            found.setdefault(iso2, []).append(identifier)
    if unknown:
        unknown = list(dict.fromkeys(unknown))
        raise errors.pays_inconnu(unknown, suggestions(unknown, names.pays_alike))
    return found
