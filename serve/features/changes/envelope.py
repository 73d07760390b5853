"""The envelope of a page of changes, the same for GET and POST /modifications (§2.2, X8)."""

from typing import Any, NamedTuple

import orjson

from serve.access.call import Request


class ChangesEnvelope(NamedTuple):
    """The keys around the changes of a page.

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
            "offre_suivante": orjson.Fragment(request.offer),
            "suivant": self.suivant,
            "plafond_atteint": self.suivant is None and self.visibles < self.total,
        }
