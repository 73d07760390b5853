"""One search per class of the first table of goals, chosen from the data.

Each is at the expensive end of its class: the largest countries and sectors, bounds that many rows pass, a `q` of the
frequency in the table of goals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from shards.query import Query, Range
from tests.bench.questions.question import Goal, Question
from tests.bench.questions.values import Values, grams, nearest_share, quantile

TABLE: Final = "fixed"  # the table of these questions in a report
# The goal of each class: its p99 in milliseconds.
GOALS: Final[Mapping[str, Goal]] = {
    name: Goal(p99=p99)
    for name, p99 in (
        ("everything, ca_desc", 1), ("one country", 1), ("country + sector", 1),
        ("15 countries × 20 sectors", 1.5), ("sub-sector, all countries", 1.5),
        ("all, sorted by name", 1), ("turnover range, all", 1), ("headcount range, all", 2),
        ("turnover + headcount + website, all", 5), ("turnover range, sorted by name", 1.5),
        ("offset 950", 1), ("limit 500", 3), ("`q` 1 letter", 3), ("`q` 2 letters", 3),
        ("`q` 3 letters, frequent", 3), ("`q` 5 letters, frequent", 15),
        ("`q` 10 letters, rare", 4), ("`q` with a blank inside", 5),
        ("`q` + ranges + 5 countries + 10 sectors", 15), ("identifier prefix", 3),
    )
}  # fmt: skip
# Shares of names that contain the `q`, by its length; then of a `q` with a blank, and of identifiers.
_SHARES: Final = {1: 0.13, 2: 0.1, 3: 0.035, 5: 0.013, 10: 0.0001}
_BLANK_SHARE: Final = 0.001  # the share of names that contain the `q` with a blank
_IDENT_SHARE: Final = 0.005  # the share of identifiers that have the prefix


def questions(values: Values) -> list[Question]:
    """The searches of the table, in its order."""
    queries = _queries(values)
    assert queries.keys() == GOALS.keys()
    pages: Mapping[str, Mapping[str, int]] = {
        "offset 950": {"offset": 950},
        "limit 500": {"limit": 500},
    }
    return [Question(TABLE, kind, query, **pages.get(kind, {})) for kind, query in queries.items()]


def _queries(values: Values) -> dict[str, Query]:
    """The search of each class, by the name of the class."""
    country, sector = values.pays[:1], values.secteurs[:1]
    group_sector, group = values.groupes[0]
    turnover = Query(ranges=(Range("ca_eur", quantile(values.ca, 0.3), quantile(values.ca, 0.7)),))
    staff = Query(ranges=(Range("effectif", quantile(values.effectif, 0.6)),))
    five_letters = _text_of_length(values, 5)
    return {
        "everything, ca_desc": Query(),
        "one country": Query(pays=country, tri="recent"),
        "country + sector": Query(pays=country, secteurs=sector),
        "15 countries × 20 sectors": Query(pays=values.pays[:15], secteurs=values.secteurs[:20]),
        "sub-sector, all countries": Query(secteurs=(group_sector,), sous_secteurs=(group,)),
        "all, sorted by name": Query(tri="nom"),
        "turnover range, all": turnover,
        "headcount range, all": replace(staff, tri="effectif_desc"),
        "turnover + headcount + website, all": replace(
            turnover, ranges=turnover.ranges + staff.ranges, site_web=True
        ),
        "turnover range, sorted by name": replace(turnover, tri="nom"),
        "offset 950": Query(),
        "limit 500": Query(),
        "`q` 1 letter": Query(q=_text_of_length(values, 1)),
        "`q` 2 letters": Query(q=_text_of_length(values, 2)),
        "`q` 3 letters, frequent": Query(q=_text_of_length(values, 3)),
        "`q` 5 letters, frequent": Query(q=five_letters),
        "`q` 10 letters, rare": Query(q=_text_of_length(values, 10)),
        "`q` with a blank inside": Query(q=_frequent_text(values.noms, (5, 7, 4), _BLANK_SHARE, True)),
        "`q` + ranges + 5 countries + 10 sectors": replace(
            turnover, q=five_letters, ranges=turnover.ranges + staff.ranges,
            pays=values.pays[:5], secteurs=values.secteurs[:10],
        ),
        "identifier prefix": Query(q=_prefix(values.ids)),
    }  # fmt: skip


def _text_of_length(values: Values, length: int) -> str:
    """A `q` of `length` characters with the frequency of `_SHARES`."""
    return _frequent_text(values.noms, (length,), _SHARES[length], False)


def _frequent_text(noms: Sequence[str], lengths: Sequence[int], share: float, blank: bool) -> str:
    """A substring that about `share` of the names contain, of the first of `lengths` that occurs; else `e o`."""
    counts = (grams(noms, length, blank=blank) for length in lengths)
    return next((text for c in counts if (text := nearest_share(c, len(noms), share))), "e o")


def _prefix(ids: Sequence[str]) -> str:
    """A prefix of three or four characters that about `_IDENT_SHARE` of the identifiers have; else `123`."""
    counts = grams((), 1, blank=False)  # an empty counter
    for length in (3, 4):
        counts.update(text[:length] for text in ids if len(text) >= length)
    return nearest_share(counts, len(ids), _IDENT_SHARE) or "123"
