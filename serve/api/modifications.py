"""GET /api/v1/modifications: what changed since a generation (beyond §4).

For identified callers, counted as a search (D1). Told is the first step of the way from `depuis` to
the generation that is served: companies that went, came or are others, with the names of the fields
that changed, never a value. A caller goes on with `depuis` = `jusque` until that is the generation
it is served from. What came or changed is bounded as the rows of a search (§8.2 rules 1 and 2), so
that this is no way around the plan's cap; what went is not, for who keeps data must purge.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import orjson

from serve.access.caller import Caller
from serve.access.etag import etag
from serve.access.result import PreparedCall, Request, Response
from serve.api.societes import PRIVATE
from serve.contract import errors
from serve.data.open_generation import OpenGeneration
from serve.request import params
from serve.request.params import Modifications
from shards.changes import change_steps
from shards.changes.change_file import DELETED, ChangeFile
from shards.changes.change_steps import ChangeStep
from shards.errors import ShardError


class _Section(NamedTuple):
    """The companies of a country and nature that are told, the first `shown` of them."""

    iso2: str
    nature: str
    companies: int
    shown: int


class _Page(NamedTuple):
    """What is told, and from which place on: `limit` (>= 0) of all that `sections` show."""

    step: ChangeStep | None
    sections: Sequence[_Section]
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
    """Neighbours in a file of changes."""

    changes: ChangeFile
    nature: str
    start: int
    stop: int

    def entries(self) -> list[bytes]:
        """Ready to send."""
        nature = b'{"nature":"%s",' % self.nature.encode()
        found = self.changes.entries(self.nature, self.start, self.stop)
        return [nature + entry[1:] for entry in found]


def modifications(ask: Request, edition: OpenGeneration) -> PreparedCall:
    """A page of changes.

    Raises:
        ApiError: 401: there is no account; 400; 409: nothing leads from `depuis` to here;
            503: what is there cannot be read.
    """
    caller = ask.caller
    if caller.account is None:
        raise errors.compte_requis(refused=caller.refused)
    asked = params.modifications(ask.pairs, edition.names)
    step = _step(asked, edition)
    page = _page(asked, step, caller)
    parts = _parts(page, edition)
    tag = etag(edition.id, caller.plan.slug, caller.souscrit, ask.offer, asked)
    headers = {"ETag": tag, **PRIVATE}

    async def run() -> Response:
        entries = [entry for part in parts for entry in part.entries()]
        return Response(200, _body(ask, asked, page, edition.id, entries), headers)

    return PreparedCall(run, tag, headers)


def _step(asked: Modifications, edition: OpenGeneration) -> ChangeStep | None:
    """The step that `asked` is about; None where nothing can have changed."""
    if asked.curseur is not None:
        # The step of the page before, also where another way is shorter by now.
        after = asked.curseur.partition(".")[0]
        for step in edition.steps.get(asked.depuis, ()):
            if step.after == after:
                return step
        raise errors.trop_ancienne(asked.depuis, edition.id)
    if asked.depuis == edition.id:
        return None
    found = change_steps.way(edition.steps, asked.depuis, edition.id)
    if found is None:
        raise errors.trop_ancienne(asked.depuis, edition.id)
    return found


def _page(asked: Modifications, step: ChangeStep | None, caller: Caller) -> _Page:
    plan = caller.plan
    cap = plan.resultats_par_recherche
    sections = []
    for nature in asked.natures:
        for iso2, counts in step.counts.items() if step else ():
            count = getattr(counts, f"{nature}s")
            if count and (not asked.pays or iso2 in asked.pays):
                shown = count if nature == DELETED else min(count, cap)
                cap -= 0 if nature == DELETED else shown
                sections.append(_Section(iso2, nature, count, shown))
    limit = min(asked.limit, plan.lignes_par_appel)
    return _Page(step, sections, _start(asked), limit)


def _start(asked: Modifications) -> int:
    if asked.curseur is None:
        return 0
    _, start, question = asked.curseur.split(".")
    if question != _question(asked):
        why = "il est d'une autre question ; gardez les autres paramètres, ou omettez-le"
        raise errors.parametre_invalide("curseur", why)
    return int(start)


def _question(asked: Modifications) -> str:
    """What pages of one walk have in common; `limit` may change on the way."""
    text = repr((asked.depuis, asked.pays, asked.natures)).encode()
    return blake2b(text, digest_size=4).hexdigest()


def _parts(page: _Page, edition: OpenGeneration) -> list[_Part]:
    """Where the changes of the page are, opened before anything is counted.

    Raises:
        ApiError: 503: they cannot be read.
    """
    parts: list[_Part] = []
    skipped, left = page.start, page.end - page.start
    for section in page.sections:
        if page.step and left > 0 and skipped < section.shown:
            stop = min(section.shown, skipped + left)
            try:
                changes = edition.changes(page.step, section.iso2)
            except (ShardError, OSError) as error:
                raise errors.indisponible(errors.NO_CHANGES) from error
            parts.append(_Part(changes, section.nature, skipped, stop))
            left -= stop - skipped
        skipped = max(0, skipped - section.shown)
    return parts


def _body(
    ask: Request, asked: Modifications, page: _Page, generation: str, entries: Sequence[bytes]
) -> bytes:
    caller = ask.caller
    jusque = page.step.after if page.step else generation
    suivant = None
    if page.end < page.visibles:
        suivant = f"{jusque}.{page.end}.{_question(asked)}"
    envelope = {
        "depuis": asked.depuis,
        "jusque": jusque,
        "generation": generation,
        "total": page.total,
        "limit": page.limit,
        "plan": caller.plan.slug,
        "plafond_resultats": caller.plan.resultats_par_recherche,
        "visibles": page.visibles,
        "tronque": page.visibles < page.total,
        "restantes": page.total - page.visibles,
        "offre_suivante": orjson.Fragment(ask.offer),
        "suivant": suivant,
        "modifications": orjson.Fragment(b"[" + b",".join(entries) + b"]"),
    }
    return orjson.dumps(envelope)
