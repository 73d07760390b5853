"""The body of POST /api/v1/modifications: the companies or the search to watch, and the page wanted (X8).

    {"depuis": "81c09a7b6c5d4e3f", "ids": ["UK:00944111", "EE:16325572"]}
    {"depuis": "81c09a7b6c5d4e3f", "recherche": {"pays": "FR,UK", "ca_min": 1000000}}

The filters of `recherche` are the parameters of a search; a list may be a text with separators, or an array.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from serve.contract import errors, parameters
from serve.contract.parameters import MOST_IDS
from serve.request import json_body, reader, values
from serve.request.place_names import PlaceNames
from serve.request.reader import ParsedParameters
from serve.request.values import AskedCompany
from shards.query import Query

IDS: Final = "ids"
SEARCH: Final = "recherche"

Companies = Sequence[AskedCompany]


@dataclass(frozen=True, slots=True)
class Watch:
    """What is watched: `companies`, or what a `query` finds.

    Attributes:
        companies: those of `ids`; where a search is watched, those of its own `ids`, None without them.
        query: None where companies are watched.
    """

    walk: ParsedParameters
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
    pairs = [
        (name, json_body.text(name, value)) for name, values in given.items() for value in values
    ]
    walk = reader.read(pairs, parameters.WATCH, names)
    if len(subjects) != 1 or len(subjects[0][1]) != 1:
        why = errors.why("l_un_des_deux", ids=IDS, search=SEARCH)
        raise errors.parametre_invalide(IDS, why)
    ((name, (subject,)),) = subjects
    if name == IDS:
        return Watch(walk, _companies(subject, names), None)
    query, companies = _search(subject, names)
    return Watch(walk, companies, query)


def _search(subject: Any, names: PlaceNames) -> tuple[Query, Companies | None]:
    if not isinstance(subject, tuple):
        example = '{"pays": "FR", "ca_min": 1000000}'
        why = json_body.why_other_type(subject, errors.why("objet_de_filtres", example=example))
        raise errors.parametre_invalide(SEARCH, why)
    asked = reader.read(json_body.parameters(subject), parameters.WATCHED, names)
    return asked.query, asked.companies


def _companies(subject: Any, names: PlaceNames) -> Companies:
    sent = len(subject) if isinstance(subject, list) else 0
    if not 0 < sent <= MOST_IDS:
        why = errors.why("liste_identifiants", most=MOST_IDS)
        if isinstance(subject, list):
            why = errors.why("attendus_et_envoyes", wanted=why, sent=sent)
        else:
            why = json_body.why_other_type(subject, why)
        raise errors.parametre_invalide(IDS, why)
    return values.companies([one if isinstance(one, str) else repr(one) for one in subject], names)
