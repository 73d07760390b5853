"""POST /api/v1/modifications: changes of watched companies, or of the companies that a search finds (X8).

    {"depuis": "81c09a7b6c5d4e3f", "ids": ["UK:00944111", "EE:16325572"]}
    {"depuis": "81c09a7b6c5d4e3f", "recherche": {"pays": "FR,UK", "ca_min": 1000000}}

The filters of `recherche` are the parameters of a search; a list is a text with separators, or an array.

Callers need an account; a page costs a call. The answer is the difference between the generation `depuis` and the
generation served with the first page (`jusque`), over any number of steps, with the values before and after.

Changes of companies that a search finds now are capped like its rows (§8.2 rules 1 and 2). Companies that it no longer
finds are not capped, nor are the companies of `ids`. Without the right to contacts, a changed contact field has null
values (§2.1).
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
from serve.generation.company_ids import ResolvedCompanies
from serve.generation.open_generation import OpenGeneration
from serve.request import json_body, reader, values
from serve.request.place_names import PlaceNames
from serve.request.reader import ParsedParameters
from serve.request.values import RequestedCompany
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

# The members of a body that say what to watch: companies, or a search.
IDS: Final = "ids"
SEARCH: Final = "recherche"

# The parameters of a body besides `ids` or `recherche`, and the parameters inside a `recherche`.
PAGE_PARAMETERS: Final = (DEPUIS, LIMIT, CURSEUR, VERSION)
SEARCH_PARAMETERS: Final = (*SCOPE, *FILTERS)

# The `nature` of each kind of change if companies are watched and not a search: without filters, a company that leaves
# was deleted, and a company that enters was created.
_NATURES_OF_COMPANIES: Final = {LEAVING: DELETED, ENTERING: CREATED, STAYING: CHANGED}
# Estimated cost of comparing a change, measured: 5 to 35 ms for 50 000.
_MICROSECONDS: Final = 0.5

Ids = Annotated[Sequence[str], Keywords(minItems=1, maxItems=MOST_IDS)]
Filtres: Final = body_of_parameters("Filtres", SEARCH_PARAMETERS, DeclaredObject)


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

RequestedCompanies = Sequence[RequestedCompany]


@dataclass(frozen=True, slots=True)
class Watch:
    """The subject of a watch: `companies`, or the companies that a `query` finds.

    Attributes:
        page_parameters: the parameters of PAGE_PARAMETERS.
        companies: the companies of `ids`, or of the `ids` of the search; None without `ids`.
        query: None if companies are watched.
    """

    page_parameters: ParsedParameters
    companies: RequestedCompanies | None
    query: Query | None

    @property
    def caller_generation(self) -> str:
        """The generation of the caller (`depuis`)."""
        return str(self.page_parameters.value(DEPUIS))

    @property
    def cursor(self) -> str | None:
        """The cursor of the page; None for the first page."""
        cursor: str | None = self.page_parameters.value(CURSEUR)
        return cursor

    @property
    def digest(self) -> str:
        """A digest of the values that all pages of one query share; a cursor of another query is refused by it."""
        text = repr((self.caller_generation, self.companies, self.query)).encode()
        return blake2b(text, digest_size=4).hexdigest()


def read_watch(raw: bytes, names: PlaceNames) -> Watch:
    """Read a body: the companies or the search to watch, and the parameters of the page.

    Raises:
        ApiError: 400: it is not such a body, has both `ids` and `recherche`, or neither.
    """
    values_by_name: dict[str, list[Any]] = {}
    for name, value in json_body.members(raw):
        values_by_name.setdefault(name, []).append(value)
    subjects = [
        (name, values_by_name.pop(name)) for name in (IDS, SEARCH) if name in values_by_name
    ]
    pairs = [
        (name, json_body.text(name, value))
        for name, values in values_by_name.items()
        for value in values
    ]
    page_parameters = reader.read(pairs, PAGE_PARAMETERS, names)
    if len(subjects) != 1 or len(subjects[0][1]) != 1:
        raise errors.invalid_parameter(IDS, "l_un_des_deux", ids=IDS, search=SEARCH)
    ((name, (subject,)),) = subjects
    if name == IDS:
        return Watch(page_parameters, _read_companies(subject, names), None)
    query, companies = _read_search(subject, names)
    return Watch(page_parameters, companies, query)


def _read_search(subject: Any, names: PlaceNames) -> tuple[Query, RequestedCompanies | None]:
    """The search of `recherche`, and the companies of its `ids`, None without them. Raises ApiError 400."""
    # `json_body.members` reads a JSON object as a tuple.
    if not isinstance(subject, tuple):
        example = '{"pays": "FR", "ca_min": 1000000}'
        why = json_body.why_other_type(subject, errors.text("objet_de_filtres", example=example))
        raise errors.invalid_parameter(SEARCH, why)
    parameters = reader.read(json_body.parameters(subject), SEARCH_PARAMETERS, names)
    return parameters.query, parameters.companies


def _read_companies(subject: Any, names: PlaceNames) -> RequestedCompanies:
    """The companies of `ids`. Raises ApiError 400."""
    item_count = len(subject) if isinstance(subject, list) else 0
    if not 0 < item_count <= MOST_IDS:
        why = errors.text("liste_identifiants", most=MOST_IDS)
        if isinstance(subject, list):
            why = errors.text("attendus_et_envoyes", wanted=why, sent=item_count)
        else:
            why = json_body.why_other_type(subject, why)
        raise errors.invalid_parameter(IDS, why)
    return values.companies(
        [item if isinstance(item, str) else repr(item) for item in subject], names
    )


class _ChangedCompanies(NamedTuple):
    """The changes of a country and kind; the plan shows the first `shown`.

    The kind says whether the companies entered the watched set (ENTERING), left it (LEAVING), or stay in it (STAYING).
    """

    iso2: str
    kind: str
    changes: NetChanges
    shown: int

    @property
    def companies(self) -> int:
        """The number of all changes of this country and kind."""
        return len(self.changes.kinds[self.kind])


class WatchResult(NamedTuple):
    """A page of changes.

    Attributes:
        jusque: the generation to which the changes lead; `generation` is the served generation.
        total: the number of changes over all pages.
        shown: the number of changes that the plan shows, over all pages.
        start: the number of changes on earlier pages.
        unknown: the values of `ids` that neither generation has, None without `ids`.
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
        """The codes of the NACE classes that the words of `activite` name (X13); empty without a search."""
        return self.watch.query.activites if self.watch.query else ()

    @property
    def suivant(self) -> str | None:
        """The cursor of the next page; None on the last page."""
        end = self.start + len(self.changes)
        return f"{self.jusque}.{end}.{self.watch.digest}" if end < self.shown else None

    def json(self) -> bytes:
        """The page as JSON, with the cursor of the next page."""
        limit = page_rows(self.request.caller.plan, self.watch.page_parameters.limit)
        envelope = ChangesEnvelope(
            self.watch.caller_generation,
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
            generation, or its `version` is no longer open; 503: the changes cannot be read.
    """
    admission.require_account(request)
    watch = read_watch(request.body, generation.names)
    generation = generation.pinned_to(watch.page_parameters.version)
    # Called only for its error, so that an unknown generation is reported before a wrong cursor.
    _steps_to(watch, generation, generation.id)
    headers = {**NO_STORE, DATA_VERSION: generation.id}
    jusque, start = _read_cursor(watch, generation)
    files = _open_files(_steps_to(watch, generation, jusque), generation)
    change_count = sum(sum(file.counts) for of_country in files.values() for file in of_country)

    async def run() -> "Result[WatchResult]":
        """Look up the watched companies, then compare the changes in a thread."""
        companies = watch.companies
        resolved = (
            None if companies is None else await company_ids.find(generation.shards, companies)
        )

        def build_result() -> WatchResult:
            """Compare the changes of `files`, and make the page from the position `start` of the cursor."""
            return _result(request, watch, generation, files, resolved, jusque, start)

        return Result(
            200, await generation.run(_MICROSECONDS * change_count, build_result), headers
        )

    return PreparedCall(run, headers=headers)


def _read_cursor(watch: Watch, generation: OpenGeneration) -> tuple[str, int]:
    """The generation to which the changes lead, and the number of changes on earlier pages.

    Without a cursor these are the served generation and 0.

    Raises:
        ApiError: 400: the cursor belongs to another query.
    """
    if watch.cursor is None:
        return generation.id, 0
    jusque, start, digest = watch.cursor.split(".")
    if digest != watch.digest:
        raise errors.invalid_parameter("curseur", "autre_question_corps", shown=repr(watch.cursor))
    return jusque, int(start)


def _steps_to(watch: Watch, generation: OpenGeneration, jusque: str) -> Sequence[ChangeStep]:
    """The steps from the generation of the caller to `jusque`. Raises ApiError 409 if no steps lead there."""
    steps = change_steps.find_way(generation.steps, watch.caller_generation, jusque)
    if steps is None:
        raise ApiError("trop_ancienne", version=watch.caller_generation, versions=[generation.id])
    return steps


def _open_files(
    steps: Sequence[ChangeStep], generation: OpenGeneration
) -> Mapping[str, Sequence[ChangeFile]]:
    """Open the files of each country, in the order of the steps. A file that cannot be read costs no call."""
    files: dict[str, list[ChangeFile]] = {}
    try:
        for step in steps:
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
    resolved: ResolvedCompanies | None,
    jusque: str,
    start: int,
) -> WatchResult:
    """The page that begins after `start` changes, computed from the open files by country.

    `resolved` has the companies of `ids`, None without `ids`; the changes lead to the generation `jusque`. Only the
    changes of a search are capped by the plan.
    """
    filters: Sequence[Filter] | None = None
    if watch.query is not None:
        query = (
            watch.query
            if resolved is None
            else replace(watch.query, ids=_named_companies(resolved))
        )
        filters = columns.filters(query)
        countries = query.pays or generation.shards
        by_country = {
            iso2: net_changes.find(
                of_country, generation.changed_companies.companies_of(of_country), filters
            )
            for iso2, of_country in files.items()
            if iso2 in countries
        }
        sections = _sections(by_country, request.caller.plan.resultats_par_recherche)
    else:
        assert resolved is not None
        by_country = _company_changes(resolved, files, generation)
        sections = _sections(by_country, None)
    end = start + page_rows(request.caller.plan, watch.page_parameters.limit)
    return WatchResult(
        request,
        watch,
        jusque,
        generation.id,
        total=sum(section.companies for section in sections),
        shown=sum(section.shown for section in sections),
        start=start,
        changes=_page(sections, start, end, filters, request.caller),
        unknown=None if resolved is None else _unknown_companies(resolved, by_country),
    )


def _named_companies(resolved: ResolvedCompanies) -> tuple[tuple[str, str], ...]:
    """The country and identifier of each named company; also of unknown ones, which an earlier generation may have."""
    return (
        *resolved.existing,
        *((item.iso2, item.identifier) for item in resolved.unknown),
    )


def _company_changes(
    resolved: ResolvedCompanies,
    files: Mapping[str, Sequence[ChangeFile]],
    generation: OpenGeneration,
) -> dict[str, NetChanges]:
    """The changes of the named companies, by country."""
    by_country: dict[str, list[str]] = {}
    for iso2, identifier in _named_companies(resolved):
        by_country.setdefault(iso2, []).append(identifier)
    changes_by_country = {}
    for iso2, identifiers in sorted(by_country.items()):
        of_country = files.get(iso2, ())
        filters = [columns.has_identifier(identifiers)]
        changes_by_country[iso2] = net_changes.find(
            of_country, generation.changed_companies.companies_of(of_country), filters
        )
    return changes_by_country


def _unknown_companies(
    resolved: ResolvedCompanies, changes_by_country: Mapping[str, NetChanges]
) -> list[str]:
    """The values of `ids` that are neither in the served generation nor removed since the generation of the caller."""
    countries = {item.iso2 for item in resolved.unknown} & changes_by_country.keys()
    removed = {
        (iso2, fold_id(change.identifier))
        for iso2 in countries
        for change in changes_by_country[iso2].read(
            LEAVING, 0, len(changes_by_country[iso2].kinds[LEAVING])
        )
    }
    return [
        item.text
        for item in resolved.unknown
        if (item.iso2, fold_id(item.identifier)) not in removed
    ]


def _sections(
    changes_by_country: Mapping[str, NetChanges], cap: int | None
) -> list[_ChangedCompanies]:
    """The changes by kind, then by country, each with its visible number; without a `cap`, all are visible."""
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
    filters: Sequence[Filter] | None,
    caller: Caller,
) -> list[ModificationSuivie]:
    """The visible changes of `sections` from `start` to before `end`."""
    page = []
    shown_before = 0
    for section in sections:
        first, stop = max(0, start - shown_before), min(section.shown, end - shown_before)
        if first < stop:
            for change in section.changes.read(section.kind, first, stop):
                page.append(
                    _changed_company(section, change, filters, contacts=caller.plan.coordonnees)
                )
        shown_before += section.shown
    return page


def _changed_company(
    section: _ChangedCompanies,
    change: NetChange,
    filters: Sequence[Filter] | None,
    *,
    contacts: bool,
) -> ModificationSuivie:
    """An entry of the answer; without `filters`, companies are watched, and the entry has no cause."""
    kind = section.kind if filters is not None else _NATURES_OF_COMPANIES[section.kind]
    values = {
        field: _shown_values(field, values, contacts=contacts)
        for field, values in change.champs.items()
    }
    return ModificationSuivie(
        nature=kind,
        iso2=section.iso2,
        id=change.identifier,
        champs=values if change.nature == CHANGED else ABSENT,
        cause=ABSENT if filters is None or kind == STAYING else _cause(change, filters),
    )


def _shown_values(field: str, values: tuple[Any, Any], *, contacts: bool) -> Sequence[Any]:
    """The values of a field before and after; contact fields have nulls without the right to contacts."""
    if field == STATEMENTS:  # the values are digests: only their presence is shown
        return [value is not None for value in values]
    return [None, None] if field in CONTACTS and not contacts else values


def _cause(change: NetChange, filters: Sequence[Filter]) -> str | list[str]:
    """Why a company newly matches, or no longer matches, a search.

    `creee`, `supprimee`, or the changed fields that the filters compare; if they compare none, all changed fields.
    """
    if change.nature != CHANGED:
        return change.nature
    compared = {field for item in filters for field in COLUMNS[item.value].fields}
    return [field for field in change.champs if field in compared] or list(change.champs)
