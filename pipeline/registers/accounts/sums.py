"""Lines that a form does not state but only their parts: elements such as `210 + 214 + 218`.

A sum is made where the form states a part and no element of the line itself. Its label says that it
is computed. A part that is missing is a blank box, which counts as zero.
"""

from collections.abc import Sequence
from typing import Final

from pipeline.registers.accounts.filing import Fact
from pipeline.registers.accounts.taxonomy import Taxonomy

PLUS: Final = " + "


def add_up(facts: Sequence[Fact], known: Taxonomy) -> list[Fact]:
    """The sums of `facts` on each of their days; their keys are the elements of `known`.

    Parts in several currencies are not added up.
    """
    stated = {(fact.key, fact.day): fact for fact in facts}
    lines = {(known.lines[key].line.code, day) for key, day in stated if key in known.lines}
    days = sorted({fact.day for fact in facts})
    found: list[Fact] = []
    for element, mapped in known.lines.items():
        if PLUS not in element:
            continue
        for day in days:
            parts = [stated[key, day] for key in element.split(PLUS) if (key, day) in stated]
            one_currency = len({part.currency for part in parts}) == 1
            if one_currency and (mapped.line.code, day) not in lines:
                found.append(parts[0]._replace(key=element, value=sum(p.value for p in parts)))
    return found


def computed_lines(facts: Sequence[Fact], known: Taxonomy) -> set[tuple[int, str]]:
    """The fiscal year and the line of each of these sums."""
    return {(fact.day.year, known.lines[fact.key].line.code) for fact in facts}
