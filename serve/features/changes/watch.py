"""POST /api/v1/modifications: what happened to one's companies, or to what a search finds (X8).

    {"depuis": "81c09a7b6c5d4e3f", "ids": ["UK:00944111", "EE:16325572"]}
    {"depuis": "81c09a7b6c5d4e3f", "recherche": {"pays": "FR,UK", "ca_min": 1000000}}

The filters of `recherche` are the parameters of a search; a list may be a text with separators, or an array.

For identified callers; a page costs a call. The answer tells the difference between the generation `depuis` and the one
that was served when the walk began (`jusque`), however many steps lie between them, with the values before and after.

Of a search, what is found now is capped like its rows (§8.2 rules 1 and 2); what is found no more is not, and neither
are one's own companies. A caller without the right to contacts learns that one changed, and no value (§2.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Annotated, Any, Final, NamedTuple

from serve.access import admission
from serve.access.call import DATA_VERSION, NO_STORE, PreparedCall, Request, Result
from serve.access.rights import Caller, page_rows
from serve.contract import errors
from serve.contract.answers import activities_of
from serve.contract.declaration import (
    ABSENT,
    AbsentKey,
    Component,
    DeclaredObject,
    Keywords,
    body_of_parameters,
)
from serve.contract.errors import ApiError
from serve.contract.feature import BodyExample
from serve.contract.parameters import FILTERS, LIMIT, MOST_IDS, SCOPE, VERSION
from serve.contract.text import Text
from serve.features.changes.answers import ModificationsSuivies, ModificationSuivie
from serve.features.changes.modifications import CURSEUR, DEPUIS, ChangesEnvelope
from serve.generation import company_ids
from serve.generation.company_ids import FoundCompanies
from serve.generation.open_generation import OpenGeneration
from serve.request import json_body, reader, values
from serve.request.place_names import PlaceNames
from serve.request.reader import ParsedParameters
from serve.request.values import AskedCompany
from shards.changes import net_changes
from shards.changes.change_file import CHANGED, CREATED, DELETED, STATEMENTS, ChangeFile
from shards.changes.net_changes import ENTERING, LEAVING, STAYING, NetChange, NetChanges
from shards.codec.folding import fold_id
from shards.codec.record import CONTACTS
from shards.errors import ShardError
from shards.generations import change_steps
from shards.generations.change_steps import ChangeStep
from shards.query import Query
from shards.search import columns
from shards.search.columns import COLUMNS, Filter

IDS: Final = "ids"
SEARCH: Final = "recherche"

# The parameters of a body beside `ids` or `recherche`, and those of a `recherche`.
WALK: Final = (DEPUIS, LIMIT, CURSEUR, VERSION)
FILTERED: Final = (*SCOPE, *FILTERS)

# What a kind of change is called where companies are watched, not a search.
_OF_COMPANIES: Final = {LEAVING: DELETED, ENTERING: CREATED, STAYING: CHANGED}
# Processor time to compare a change, measured: 5 to 35 ms for 50 000.
_MICROSECONDS: Final = 0.5

Ids = Annotated[Sequence[str], Keywords(minItems=1, maxItems=MOST_IDS)]
Filtres: Final = body_of_parameters("Filtres", FILTERED, DeclaredObject)


class DemandeModifications(Component, closed=True):
    depuis: Annotated[str, DEPUIS]
    limit: Annotated[int | AbsentKey, LIMIT]
    curseur: Annotated[str | AbsentKey, CURSEUR]
    version: Annotated[str | AbsentKey, VERSION]
    ids: Ids | AbsentKey
    recherche: Filtres | AbsentKey  # type: ignore[valid-type]


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


def read_watch(raw: bytes, names: PlaceNames) -> Watch:
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
        raise errors.invalid_parameter(IDS, "l_un_des_deux", ids=IDS, search=SEARCH)
    ((name, (subject,)),) = subjects
    if name == IDS:
        return Watch(walk, _companies(subject, names), None)
    query, companies = _search(subject, names)
    return Watch(walk, companies, query)


def _search(subject: Any, names: PlaceNames) -> tuple[Query, Companies | None]:
    if not isinstance(subject, tuple):
        example = '{"pays": "FR", "ca_min": 1000000}'
        why = json_body.why_other_type(subject, errors.text("objet_de_filtres", example=example))
        raise errors.invalid_parameter(SEARCH, why)
    asked = reader.read(json_body.parameters(subject), FILTERED, names)
    return asked.query, asked.companies


def _companies(subject: Any, names: PlaceNames) -> Companies:
    sent = len(subject) if isinstance(subject, list) else 0
    if not 0 < sent <= MOST_IDS:
        why = errors.text("liste_identifiants", most=MOST_IDS)
        if isinstance(subject, list):
            why = errors.text("attendus_et_envoyes", wanted=why, sent=sent)
        else:
            why = json_body.why_other_type(subject, why)
        raise errors.invalid_parameter(IDS, why)
    return values.companies([one if isinstance(one, str) else repr(one) for one in subject], names)


class _ChangedCompanies(NamedTuple):
    """The changes of a country and kind; the plan shows the first `shown` of them."""

    iso2: str
    kind: str
    changes: NetChanges
    shown: int

    @property
    def companies(self) -> int:
        return len(self.changes.kinds[self.kind])


class WatchResult(NamedTuple):
    """A page of changes.

    Attributes:
        jusque: the generation that the walk leads to; `generation` is the one served.
        shown: the changes that the plan shows, over all pages.
        unknown: the items of `ids` that neither generation has, None where there are no `ids`.
    """

    request: Request
    watch: Watch
    jusque: str
    generation: str
    total: int
    shown: int
    start: int
    changes: Sequence[ModificationSuivie]
    unknown: Sequence[str] | None

    @property
    def activites(self) -> Sequence[str]:
        """The classes that the words of `activite` name (X13)."""
        return self.watch.query.activites if self.watch.query else ()

    @property
    def suivant(self) -> str | None:
        """The cursor of the next page."""
        end = self.start + len(self.changes)
        return f"{self.jusque}.{end}.{self.watch.digest}" if end < self.shown else None

    def json(self) -> bytes:
        """The envelope of the changes."""
        limit = page_rows(self.request.caller.plan, self.watch.walk.limit)
        envelope = ChangesEnvelope(
            self.watch.since,
            self.jusque,
            self.generation,
            self.total,
            self.shown,
            limit,
            self.suivant,
        )
        return ModificationsSuivies(
            **envelope.fields(self.request),
            modifications=self.changes,
            ids_inconnus=ABSENT if self.unknown is None else self.unknown,
            activites_comprises=activities_of(self.activites) or ABSENT,
        ).json()


def prepare_watch(request: Request, generation: OpenGeneration) -> PreparedCall[WatchResult]:
    """A page of the changes of the companies, or of the search, in the body of the request.

    Raises:
        ApiError: 401: there is no account; 400; 409: no steps lead from `depuis` to this
            generation, or its `version` is not open any more; 503: the changes cannot be read.
    """
    admission.require_account(request)
    watch = read_watch(request.body, generation.names)
    generation = generation.at_version(watch.walk.version)
    _way(watch, generation, generation.id)  # an unknown generation is told before a cursor
    headers = {**NO_STORE, DATA_VERSION: generation.id}
    jusque, start = _place(watch, generation)
    files = _files(_way(watch, generation, jusque), generation)
    changes = sum(sum(file.counts) for of_country in files.values() for file in of_country)

    async def run() -> "Result[WatchResult]":
        companies = watch.companies
        named = None if companies is None else await company_ids.find(generation.shards, companies)

        def make() -> WatchResult:
            return _result(request, watch, generation, files, named, jusque, start)

        return Result(200, await generation.in_thread(_MICROSECONDS * changes, make), headers)

    return PreparedCall(run, headers=headers)


def _place(watch: Watch, generation: OpenGeneration) -> tuple[str, int]:
    """The generation that the walk leads to, and the number of changes on earlier pages."""
    if watch.cursor is None:
        return generation.id, 0
    jusque, start, digest = watch.cursor.split(".")
    if digest != watch.digest:
        raise errors.invalid_parameter("curseur", "autre_question_corps", shown=repr(watch.cursor))
    return jusque, int(start)


def _way(watch: Watch, generation: OpenGeneration, jusque: str) -> Sequence[ChangeStep]:
    way = change_steps.way(generation.steps, watch.since, jusque)
    if way is None:
        raise ApiError("trop_ancienne", version=watch.since, versions=[generation.id])
    return way


def _files(
    way: Sequence[ChangeStep], generation: OpenGeneration
) -> Mapping[str, Sequence[ChangeFile]]:
    """The files of each country, in the order of the steps, opened before anything is counted."""
    files: dict[str, list[ChangeFile]] = {}
    try:
        for step in way:
            for iso2 in step.counts:
                files.setdefault(iso2, []).append(generation.changes(step, iso2))
    except (ShardError, OSError) as error:
        raise ApiError("indisponible", "sans_modifications") from error
    return dict(sorted(files.items()))


def _result(
    request: Request,
    watch: Watch,
    generation: OpenGeneration,
    files: Mapping[str, Sequence[ChangeFile]],
    named: FoundCompanies | None,
    jusque: str,
    start: int,
) -> WatchResult:
    wanted: Sequence[Filter] | None = None
    if watch.query is not None:
        query = watch.query if named is None else replace(watch.query, ids=_identifiers(named))
        wanted = columns.filters(query)
        countries = query.pays or generation.shards
        by_country = {
            iso2: net_changes.find(
                of_country, generation.changed_companies.companies_of(of_country), wanted
            )
            for iso2, of_country in files.items()
            if iso2 in countries
        }
        sections = _sections(by_country, request.caller.plan.resultats_par_recherche)
    else:
        assert named is not None
        by_country = _of_companies(named, files, generation)
        sections = _sections(by_country, None)
    end = start + page_rows(request.caller.plan, watch.walk.limit)
    return WatchResult(
        request,
        watch,
        jusque,
        generation.id,
        total=sum(section.companies for section in sections),
        shown=sum(section.shown for section in sections),
        start=start,
        changes=_page(sections, start, end, wanted, request.caller),
        unknown=None if named is None else _unknown_companies(named, by_country),
    )


def _identifiers(named: FoundCompanies) -> tuple[tuple[str, str], ...]:
    """Companies by country and identifier; one that is not there may have been there before."""
    return (*named.known, *((one.iso2, one.identifier) for one in named.unknown))


def _of_companies(
    named: FoundCompanies, files: Mapping[str, Sequence[ChangeFile]], generation: OpenGeneration
) -> dict[str, NetChanges]:
    """The changes of companies, by country."""
    by_country: dict[str, list[str]] = {}
    for iso2, identifier in _identifiers(named):
        by_country.setdefault(iso2, []).append(identifier)
    changes_by_country = {}
    for iso2, identifiers in sorted(by_country.items()):
        of_country = files.get(iso2, ())
        wanted = [columns.has_identifier(identifiers)]
        changes_by_country[iso2] = net_changes.find(
            of_country, generation.changed_companies.companies_of(of_country), wanted
        )
    return changes_by_country


def _unknown_companies(
    named: FoundCompanies, changes_by_country: Mapping[str, NetChanges]
) -> list[str]:
    """The companies that are neither in the generation nor gone from it, as they were written."""
    concerned = {one.iso2 for one in named.unknown} & changes_by_country.keys()
    gone = {
        (iso2, fold_id(change.identifier))
        for iso2 in concerned
        for change in changes_by_country[iso2].read(
            LEAVING, 0, len(changes_by_country[iso2].kinds[LEAVING])
        )
    }
    return [one.given for one in named.unknown if (one.iso2, fold_id(one.identifier)) not in gone]


def _sections(
    changes_by_country: Mapping[str, NetChanges], cap: int | None
) -> list[_ChangedCompanies]:
    """All changes by kind, then by country; without a `cap` all are shown."""
    sections = []
    for kind in net_changes.KINDS:
        for iso2, changes in changes_by_country.items():
            shown = count = len(changes.kinds[kind])
            if cap is not None and kind != LEAVING:
                shown = min(count, cap)
                cap -= shown
            sections.append(_ChangedCompanies(iso2, kind, changes, shown))
    return sections


def _page(
    sections: Sequence[_ChangedCompanies],
    start: int,
    end: int,
    wanted: Sequence[Filter] | None,
    caller: Caller,
) -> list[ModificationSuivie]:
    """The changes [start, end) of those that `sections` show."""
    page = []
    first = 0
    for section in sections:
        low, high = max(0, start - first), min(section.shown, end - first)
        if low < high:
            for change in section.changes.read(section.kind, low, high):
                page.append(_entry(section, change, wanted, contacts=caller.plan.coordonnees))
        first += section.shown
    return page


def _entry(
    section: _ChangedCompanies,
    change: NetChange,
    wanted: Sequence[Filter] | None,
    *,
    contacts: bool,
) -> ModificationSuivie:
    kind = section.kind if wanted is not None else _OF_COMPANIES[section.kind]
    values = {
        field: _values(field, values, contacts=contacts) for field, values in change.champs.items()
    }
    return ModificationSuivie(
        nature=kind,
        iso2=section.iso2,
        id=change.identifier,
        champs=values if change.nature == CHANGED else ABSENT,
        cause=ABSENT if wanted is None or kind == STAYING else _cause(change, wanted),
    )


def _values(field: str, values: tuple[Any, Any], *, contacts: bool) -> Sequence[Any]:
    if field == STATEMENTS:  # their digests tell whether there are some
        return [value is not None for value in values]
    return [None, None] if field in CONTACTS and not contacts else values


def _cause(change: NetChange, wanted: Sequence[Filter]) -> str | list[str]:
    """The cause of an entry or exit: `creee`, `supprimee`, or the changed fields that filters compare."""
    if change.nature != CHANGED:
        return change.nature
    compared = {field for one in wanted for field in COLUMNS[one.value].fields}
    return [field for field in change.champs if field in compared] or list(change.champs)
