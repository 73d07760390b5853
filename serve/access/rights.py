"""What of a search a plan may see (contract C): pure arithmetic on the figures of the plan.

`total` never enters a clamp and no clamp ever enters `total` (§8.2 rule 3); offset + limit never
passes the plan's cap, so that paging is no way around it (§8.2 rule 2).
"""

from typing import Final, NamedTuple

from quota.plans import Plan

VISITOR: Final = "visiteur"


class Window(NamedTuple):
    """The rows a caller may ask for: at most `limit` (>= 0) from `offset` (echoed as it is)."""

    limit: int
    offset: int


class VisibleWindow(NamedTuple):
    """How much of `total` the plan lets see, in the words of §2.2."""

    visibles: int
    restantes: int

    @property
    def tronque(self) -> bool:
        return self.restantes > 0


def apercu(plan: Plan) -> bool:
    """Is this the preview that unidentified callers get (§2.2)?"""
    return plan.slug == VISITOR


def window(plan: Plan, limit: int, offset: int) -> Window:
    """The effective limit and offset (B19); a visitor's offset is locked at 0 (§5 rule 2)."""
    start = 0 if apercu(plan) else offset
    cap = plan.resultats_par_recherche
    return Window(max(0, min(limit, cap, plan.lignes_par_appel, cap - start)), start)


def shown(plan: Plan, total: int) -> VisibleWindow:
    visibles = min(total, plan.resultats_par_recherche)
    return VisibleWindow(visibles, total - visibles)


def effective_limit(asked: Window, total: int) -> int:
    """The limit to echo: 0 where the offset is past the total (B20).

    An offset of 0 is past nothing, so that an empty result echoes the limit of contract C.
    """
    return 0 if asked.offset and asked.offset >= total else asked.limit


def next_offset(plan: Plan, asked: Window, total: int) -> int | None:
    """Where the next page begins, or None: no other row can be reached (B20)."""
    after = asked.offset + asked.limit
    # A visitor's offset is locked: no next page, whatever is left.
    if apercu(plan) or not asked.limit or after >= shown(plan, total).visibles:
        return None
    return after
