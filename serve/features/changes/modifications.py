"""GET /api/v1/modifications: the changes since a generation (beyond §4).

For identified callers, counted as a search (D1). A response reports the first step on the way from
`depuis` to the generation that is served: companies that were removed, added or changed, with the
names of the changed fields, never a value. The caller continues with `depuis` = `jusque` until that
is the generation served.

Additions and changes are capped like the rows of a search (§8.2 rules 1 and 2), so that this route
is no way around the cap of the plan. Removals are not capped: anyone who keeps data must purge them.
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
        depuis: the generation that the caller named.
        jusque: the generation that the page leads to; `generation` is the one served.
        total: the changes over all pages; the plan shows the first `visibles` of them.
        limit: the most changes of a page.
        suivant: the cursor of the next page, None on the last one.
    """

    depuis: str
    jusque: str
    generation: str
    total: int
    visibles: int
    limit: int
    suivant: str | None

    def fields(self, request: Request) -> dict[str, Any]:
        """The fields of a page but its changes."""
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
    """The changes of a country and nature; the plan shows the first `shown` of them."""

    iso2: str
    nature: str
    companies: int
    shown: int


class _Page(NamedTuple):
    """A page of changes: `limit` (>= 0) of all that `sections` show, from `start`."""

    step: ChangeStep | None
    sections: Sequence[_ChangeSection]
    start: int
    limit: int

    @property
    def total(self) -> int:
        return sum(section.companies for section in self.sections)

    @property
    def visibles(self) -> int:
        return sum(section.shown for section in self.sections)

    @property
    def end(self) -> int:
        return min(self.start + self.limit, max(self.start, self.visibles))


class _Part(NamedTuple):
    """A range of neighbours in a file of changes."""

    changes: ChangeFile
    nature: str
    start: int
    stop: int

    def entries(self) -> list[bytes]:
        """The changes as JSON."""
        nature = b'{"nature":"%s",' % self.nature.encode()
        found = self.changes.entries(self.nature, self.start, self.stop)
        return [nature + entry[1:] for entry in found]


class ChangesResult(NamedTuple):
    """A page of changes with its entries as JSON; `generation` is the one that is served."""

    request: Request
    asked: ParsedParameters
    page: _Page
    generation: str
    entries: Sequence[bytes]

    def json(self) -> bytes:
        """The envelope of the changes."""
        page = self.page
        jusque = page.step.after if page.step else self.generation
        suivant = None
        if page.end < page.visibles:
            suivant = f"{jusque}.{page.end}.{_walk(self.asked)}"
        envelope = ChangesEnvelope(
            self.asked.value(DEPUIS),
            jusque,
            self.generation,
            page.total,
            page.visibles,
            page.limit,
            suivant,
        )
        entries = b"[%b]" % b",".join(self.entries)
        document = ListeModifications(**envelope.fields(self.request), modifications=entries)
        return document.json()


def modifications(request: Request, generation: OpenGeneration) -> PreparedCall[ChangesResult]:
    """A page of changes.

    Raises:
        ApiError: 401: there is no account; 400; 409: no steps lead from `depuis` to this
            generation, or its `version` is not open any more; 503: the changes cannot be read.
    """
    caller = request.caller
    admission.require_account(request)
    asked = reader.read(request.pairs, PARAMETERS, generation.names)
    generation = generation.at_version(asked.version)
    page = _page(asked, _step(asked, generation), caller)
    parts = _parts(page, generation)
    tag = etag(generation.id, caller.plan.slug, caller.souscrit, request.offer, asked)
    headers = private_headers(tag, generation.id)

    async def run() -> "Result[ChangesResult]":
        entries = [entry for part in parts for entry in part.entries()]
        return Result(200, ChangesResult(request, asked, page, generation.id, entries), headers)

    return PreparedCall(run, tag, headers)


def _step(asked: ParsedParameters, generation: OpenGeneration) -> ChangeStep | None:
    """The step to report; None where nothing can have changed."""
    since, cursor = asked.value(DEPUIS), asked.value(CURSEUR)
    if cursor is not None:
        # The step of the page before, even if another way is shorter by now.
        after = cursor.partition(".")[0]
        for step in generation.steps.get(since, ()):
            if step.after == after:
                return step
        raise ApiError("trop_ancienne", version=since, versions=[generation.id])
    if since == generation.id:
        return None
    steps = change_steps.way(generation.steps, since, generation.id)
    if steps is None:
        raise ApiError("trop_ancienne", version=since, versions=[generation.id])
    return steps[0]


def _page(asked: ParsedParameters, step: ChangeStep | None, caller: Caller) -> _Page:
    plan = caller.plan
    cap = plan.resultats_par_recherche
    sections = []
    for nature in asked.value(NATURE) or NATURES:
        for iso2, counts in step.counts.items() if step else ():
            count = getattr(counts, f"{nature}s")
            if count and (not asked.query.pays or iso2 in asked.query.pays):
                shown = count if nature == DELETED else min(count, cap)
                cap -= 0 if nature == DELETED else shown
                sections.append(_ChangeSection(iso2, nature, count, shown))
    return _Page(step, sections, _start(asked), page_rows(plan, asked.limit))


def _start(asked: ParsedParameters) -> int:
    cursor = asked.value(CURSEUR)
    if cursor is None:
        return 0
    _, start, walk = cursor.split(".")
    if walk != _walk(asked):
        raise errors.invalid_parameter("curseur", "autre_question", shown=repr(cursor))
    return int(start)


def _walk(asked: ParsedParameters) -> str:
    """A digest of what the pages of one walk have in common; `limit` may change between pages."""
    text = repr((asked.value(DEPUIS), asked.query.pays, asked.value(NATURE) or NATURES)).encode()
    return blake2b(text, digest_size=4).hexdigest()


def _parts(page: _Page, generation: OpenGeneration) -> list[_Part]:
    """The ranges that hold the changes of the page, opened before anything is counted.

    Raises:
        ApiError: 503: they cannot be read.
    """
    parts: list[_Part] = []
    skipped, left = page.start, page.end - page.start
    for section in page.sections:
        if page.step and left > 0 and skipped < section.shown:
            stop = min(section.shown, skipped + left)
            try:
                changes = generation.changes(page.step, section.iso2)
            except (ShardError, OSError) as error:
                raise ApiError("indisponible", "sans_modifications") from error
            parts.append(_Part(changes, section.nature, skipped, stop))
            left -= stop - skipped
        skipped = max(0, skipped - section.shown)
    return parts
