"""The rows that a plan shows of a search and has in a file (contract C): pure arithmetic on the figures of the plan.

`total` never enters a clamp and no clamp ever enters `total` (§8.2 rule 3). offset + limit never
passes the cap of the plan, so paging is no way around it (§8.2 rule 2).
"""

from typing import Final, NamedTuple

from quota.plans import Plan

VISITOR: Final = "visiteur"


class Window(NamedTuple):
    """The rows that a caller may ask for: at most `limit` (>= 0) from `offset` (echoed as it is)."""

    limit: int
    offset: int


class VisibleWindow(NamedTuple):
    """The part of `total` that the plan shows, in the words of §2.2."""

    visibles: int
    restantes: int

    @property
    def tronque(self) -> bool:
        return self.restantes > 0


def apercu(plan: Plan) -> bool:
    """Is this the preview for unidentified callers (§2.2)?"""
    return plan.slug == VISITOR


def most_rows(plan: Plan) -> int:
    """The most rows that a call of the plan shows (B19)."""
    return min(plan.resultats_par_recherche, plan.lignes_par_appel)


def page_rows(plan: Plan, limit: int) -> int:
    """The rows of a page of which `limit` are asked for: at most those of a call (B19)."""
    return min(limit, plan.lignes_par_appel)


def file_rows(plan: Plan, asked: int | None) -> int:
    """The most companies of a file: as many as are asked for, at most those of an export (F1); None asks for all."""
    return min(asked or plan.lignes_par_export, plan.lignes_par_export)


def file_statements(plan: Plan) -> int:
    """The most companies of a file that have their statements there (F7); 0 without the right to statements."""
    return plan.societes_avec_comptes_par_export if plan.etats_financiers else 0


def window(plan: Plan, limit: int, offset: int) -> Window:
    """The effective limit and offset (B19); a visitor's offset is locked at 0 (§5 rule 2)."""
    start = 0 if apercu(plan) else offset
    cap = plan.resultats_par_recherche
    return Window(max(0, min(limit, most_rows(plan), cap - start)), start)


def visible_window(plan: Plan, total: int) -> VisibleWindow:
    """The part of `total` companies that the plan shows, and the rest."""
    visibles = min(total, plan.resultats_par_recherche)
    return VisibleWindow(visibles, total - visibles)


def effective_limit(window: Window, total: int) -> int:
    """The limit to echo: 0 where the offset is past the total (B20).

    An offset of 0 is past nothing, so an empty result echoes the limit of contract C.
    """
    return 0 if window.offset and window.offset >= total else window.limit


def next_offset(plan: Plan, window: Window, total: int) -> int | None:
    """The offset of the next page, or None where no other row can be reached (B20)."""
    after = window.offset + window.limit
    # A visitor's offset is locked: no next page, whatever is left.
    if apercu(plan) or not window.limit or after >= visible_window(plan, total).visibles:
        return None
    return after
