"""GET /api/v1/modifications: the changes since a generation (beyond §4).

Callers need an account; a page counts as a search (D1). A response has the first step on the way from `depuis` to the
served generation: companies that were removed, added or changed, with the names of the changed fields and without
values. The caller continues with `depuis` = `jusque` until `jusque` is the served generation.

Additions and changes are capped like the rows of a search (§8.2 rules 1 and 2), so that nobody can use this route to
evade the cap of the plan. Removals are not capped, because anyone who keeps data must purge removed companies.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from serve.access import admission
from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.access.rights import Caller, page_rows
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.parameters import LIMIT, PAYS, VERSION, Parameter
from serve.features.changes.answers import ListeModifications
from serve.generation.open_generation import OpenGeneration
from serve.request import reader
from serve.request.reader import ParsedParameters
from shards.changes.change_file import DELETED, NATURES, ChangeFile
from shards.errors import ShardError
from shards.generations import change_steps
from shards.generations.change_steps import ChangeStep

DEPUIS: Final = Parameter(
    "depuis", "81c09a7b6c5d4e3f", "code", pattern=r"^[0-9a-f]{16}$", required=True
)
NATURE: Final = Parameter("nature", "supprimee", "choices", enum=NATURES, separator=",")
# A cursor has the generation to which the changes lead, the number of changes on earlier pages, and a digest of the
# parameters.
CURSEUR: Final = Parameter(
    "curseur",
    "4f6a0c1d2e3b4a59.200.1a2b3c4d",
    "code",
    pattern=r"^[0-9a-f]{16}\.[0-9]{1,10}\.[0-9a-f]{8}$",
    from_answer=True,
)
PARAMETERS: Final = (DEPUIS, PAYS, NATURE, LIMIT, CURSEUR, VERSION)


class ChangesEnvelope(NamedTuple):
    """The keys around the changes of a page, the same for GET and POST (§2.2, X8).

    Attributes:
        depuis: the generation of the caller.
        jusque: the generation to which these changes lead.
        generation: the served generation.
        total: the number of changes over all pages.
        visibles: the number of changes that the plan shows; these are the first ones.
        limit: the most changes of a page.
        suivant: the cursor of the next page, None on the last page.
    """

    depuis: str
    jusque: str
    generation: str
    total: int
    visibles: int
    limit: int
    suivant: str | None

    def fields(self, request: Request) -> dict[str, Any]:
        """The fields of a page except its changes."""
        plan = request.caller.plan
        return {
            "depuis": self.depuis,
            "jusque": self.jusque,
            "generation": self.generation,
            "total": self.total,
            "limit": self.limit,
            "plan": plan.slug,
            "plafond_resultats": plan.resultats_par_recherche,
            "visibles": self.visibles,
            "tronque": self.visibles < self.total,
            "restantes": self.total - self.visibles,
            "offre_suivante": request.offer,
            "suivant": self.suivant,
            "plafond_atteint": self.suivant is None and self.visibles < self.total,
        }


class _ChangeSection(NamedTuple):
    """The number of changes of a country and nature; the plan shows the first `shown`."""

    iso2: str
    nature: str
    companies: int
    shown: int


class _Page(NamedTuple):
    """A page of changes: at most `limit` (>= 0) of the visible changes of `sections`, from `start`.

    Attributes:
        step: None if the caller already has the served generation; there are then no changes.
    """

    step: ChangeStep | None
    sections: Sequence[_ChangeSection]
    start: int
    limit: int

    @property
    def total(self) -> int:
        """The number of all changes, over all pages."""
        return sum(section.companies for section in self.sections)

    @property
    def visibles(self) -> int:
        """The number of changes that the plan shows, over all pages."""
        return sum(section.shown for section in self.sections)

    @property
    def end(self) -> int:
        """The number of visible changes up to the last one of this page."""
        return min(self.start + self.limit, max(self.start, self.visibles))


class _ChangeRange(NamedTuple):
    """A range of changes in a file of changes."""

    changes: ChangeFile
    nature: str
    start: int
    stop: int

    def entries(self) -> list[bytes]:
        """The changes as JSON; the nature becomes the first key of each stored entry, which begins with `{`."""
        nature = b'{"nature":"%s",' % self.nature.encode()
        entries = self.changes.entries(self.nature, self.start, self.stop)
        return [nature + entry[1:] for entry in entries]


class ChangesResult(NamedTuple):
    """A page of changes with its entries as JSON; `generation` is the served generation."""

    request: Request
    parameters: ParsedParameters
    page: _Page
    generation: str
    entries: Sequence[bytes]

    def json(self) -> bytes:
        """The page as JSON, with the cursor of the next page."""
        page = self.page
        jusque = page.step.after if page.step else self.generation
        next_cursor = None
        if page.end < page.visibles:
            next_cursor = f"{jusque}.{page.end}.{_cursor_digest(self.parameters)}"
        envelope = ChangesEnvelope(
            self.parameters.value(DEPUIS),
            jusque,
            self.generation,
            page.total,
            page.visibles,
            page.limit,
            next_cursor,
        )
        entries = b"[%b]" % b",".join(self.entries)
        document = ListeModifications(**envelope.fields(self.request), modifications=entries)
        return document.json()


def modifications(request: Request, generation: OpenGeneration) -> PreparedCall[ChangesResult]:
    """Prepare a page of the changes of all companies in one step from the generation `depuis`.

    Raises:
        ApiError: 401: there is no account; 400; 409: no steps lead from `depuis` to this
            generation, or its `version` is no longer open; 503: the changes cannot be read.
    """
    caller = request.caller
    admission.require_account(request)
    parameters = reader.read(request.pairs, PARAMETERS, generation.names)
    generation = generation.pinned_to(parameters.version)
    page = _page(parameters, _step(parameters, generation), caller)
    ranges = _page_ranges(page, generation)
    tag = etag(generation.id, caller.plan.slug, caller.souscrit, request.offer, parameters)
    headers = private_headers(tag, generation.id)

    async def run() -> "Result[ChangesResult]":
        """Read the entries of the page."""
        entries = [entry for one_range in ranges for entry in one_range.entries()]
        return Result(
            200, ChangesResult(request, parameters, page, generation.id, entries), headers
        )

    return PreparedCall(run, tag, headers)


def _step(parameters: ParsedParameters, generation: OpenGeneration) -> ChangeStep | None:
    """The first step from `depuis` to the served generation, or that of the cursor; None if both are one generation.

    Raises:
        ApiError: 409: no steps lead from `depuis` to the served generation, or the step of the cursor is gone.
    """
    since, cursor = parameters.value(DEPUIS), parameters.value(CURSEUR)
    if cursor is not None:
        # The step of the previous page, even if another sequence of steps is shorter now.
        after = cursor.partition(".")[0]
        for step in generation.steps.get(since, ()):
            if step.after == after:
                return step
        raise ApiError("trop_ancienne", version=since, versions=[generation.id])
    if since == generation.id:
        return None
    steps = change_steps.find_way(generation.steps, since, generation.id)
    if steps is None:
        raise ApiError("trop_ancienne", version=since, versions=[generation.id])
    return steps[0]


def _page(parameters: ParsedParameters, step: ChangeStep | None, caller: Caller) -> _Page:
    """The requested page of the changes of a step; the cap of the plan is used up in the order of the sections."""
    plan = caller.plan
    cap_left = plan.resultats_par_recherche
    sections = []
    for nature in parameters.value(NATURE) or NATURES:
        for iso2, counts in step.counts.items() if step else ():
            count = getattr(counts, f"{nature}s")  # the field of `ChangeCounts`, such as `creees`
            if count and (not parameters.query.pays or iso2 in parameters.query.pays):
                shown = count if nature == DELETED else min(count, cap_left)
                cap_left -= 0 if nature == DELETED else shown
                sections.append(_ChangeSection(iso2, nature, count, shown))
    return _Page(step, sections, _first_change(parameters), page_rows(plan, parameters.limit))


def _first_change(parameters: ParsedParameters) -> int:
    """The number of visible changes on the earlier pages, which the cursor contains; 0 for the first page.

    Raises:
        ApiError: 400: the cursor belongs to other parameters.
    """
    cursor = parameters.value(CURSEUR)
    if cursor is None:
        return 0
    _, start, digest = cursor.split(".")
    if digest != _cursor_digest(parameters):
        raise errors.invalid_parameter("curseur", "autre_question", shown=repr(cursor))
    return int(start)


def _cursor_digest(parameters: ParsedParameters) -> str:
    """A digest of the parameters that must be equal on all pages; `limit` can differ from page to page."""
    text = repr(
        (parameters.value(DEPUIS), parameters.query.pays, parameters.value(NATURE) or NATURES)
    ).encode()
    return blake2b(text, digest_size=4).hexdigest()


def _page_ranges(page: _Page, generation: OpenGeneration) -> list[_ChangeRange]:
    """The ranges with the changes of the page. Their files are opened here, so a file that is missing costs no call.

    Raises:
        ApiError: 503: the changes cannot be read.
    """
    ranges: list[_ChangeRange] = []
    skipped, changes_left = page.start, page.end - page.start
    for section in page.sections:
        if page.step and changes_left > 0 and skipped < section.shown:
            stop = min(section.shown, skipped + changes_left)
            try:
                changes = generation.changes(page.step, section.iso2)
            except (ShardError, OSError) as error:
                raise ApiError("indisponible", "sans_modifications") from error
            ranges.append(_ChangeRange(changes, section.nature, skipped, stop))
            changes_left -= stop - skipped
        skipped = max(0, skipped - section.shown)
    return ranges
