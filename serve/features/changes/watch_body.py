"""The body of POST /api/v1/modifications: the companies or the search to watch, and the page wanted (X8).

    {"depuis": "81c09a7b6c5d4e3f", "ids": ["UK:00944111", "EE:16325572"]}
    {"depuis": "81c09a7b6c5d4e3f", "recherche": {"pays": "FR,UK", "ca_min": 1000000}}

The filters of `recherche` are the parameters of a search; a list may be a text with separators, or an array.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Any, Final

from serve.contract import errors
from serve.contract.declaration import (
    AbsentKey,
    body_of_parameters,
    component,
    part,
    with_keywords,
)
from serve.contract.operation import BodyExample
from serve.contract.parameters import FILTERS, LIMIT, MOST_IDS, SCOPE, VERSION
from serve.contract.text import Text
from serve.features.changes.modifications import CURSEUR, DEPUIS
from serve.request import json_body, reader, values
from serve.request.place_names import PlaceNames
from serve.request.reader import ParsedParameters
from serve.request.values import AskedCompany
from shards.query import Query

IDS: Final = "ids"
SEARCH: Final = "recherche"

# The parameters of a body beside `ids` or `recherche`, and those of a `recherche`.
WALK: Final = (DEPUIS, LIMIT, CURSEUR, VERSION)
FILTERED: Final = (*SCOPE, *FILTERS)

_Filtres: Final[type] = part(
    "Les filtres d’une recherche ; un objet vide est la base entière. Une liste peut aussi être un "
    "tableau.",
    "The filters of a search; an empty object is the whole base. A list may be an array, too.",
    closed=True,
)(body_of_parameters("Filtres", FILTERED))


@component(
    "Ce qu’il faut suivre, `ids` ou `recherche`, et depuis quand.",
    "What to watch, either `ids` or `recherche`, and since when.",
    closed=True,
)
class DemandeModifications:
    depuis: Annotated[str, DEPUIS]
    limit: Annotated[int | AbsentKey, LIMIT]
    curseur: Annotated[str | AbsentKey, CURSEUR]
    version: Annotated[str | AbsentKey, VERSION]
    ids: Annotated[
        Sequence[str] | AbsentKey,
        with_keywords(minItems=1, maxItems=MOST_IDS),
        Text(
            "Les sociétés, chacune par pays et identifiant : `UK:00944111`.",
            "Companies, each as country and identifier: `UK:00944111`.",
        ),
    ]
    recherche: _Filtres | AbsentKey  # type: ignore[valid-type]


BODIES: Final = (
    BodyExample(
        "ids",
        Text("Deux sociétés", "Two companies"),
        {"depuis": DEPUIS.example, "ids": ["UK:00944111", "EE:16325572"]},
    ),
    BodyExample(
        "recherche",
        Text("Les restaurants de plus d’un million d’euros", "Restaurants of over a million euros"),
        {
            "depuis": DEPUIS.example,
            "recherche": {"pays": "FR,UK", "secteur": "restauration", "ca_min": 1_000_000},
        },
    ),
)

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
    def since(self) -> str:
        """The generation that the caller has."""
        return str(self.walk.value(DEPUIS))

    @property
    def cursor(self) -> str | None:
        """Where the page begins; None for the first one."""
        cursor: str | None = self.walk.value(CURSEUR)
        return cursor

    @property
    def digest(self) -> str:
        """A digest of what the pages of one walk have in common."""
        text = repr((self.since, self.companies, self.query)).encode()
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
    walk = reader.read(pairs, WALK, names)
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
    asked = reader.read(json_body.parameters(subject), FILTERED, names)
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
