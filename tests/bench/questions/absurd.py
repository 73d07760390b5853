"""Rare and absurd searches that a caller may send by mistake or by intent."""

from typing import Final

from shards.query import DEEPEST, Query, Range
from tests.bench.questions.question import Question
from tests.bench.questions.values import Values, quantile

TABLE: Final = "absurd"  # the table of these questions in a report


def questions(values: Values) -> list[Question]:
    """One question per kind of rare or absurd search; the last three are about pages at the end and of full length."""
    return [
        *(Question(TABLE, kind, query) for kind, query in _queries(values).items()),
        Question(TABLE, "the last row that may be shown", Query(tri="nom"), DEEPEST - 1, 1),
        Question(TABLE, "behind the last row", Query(q="zzzzzzzz"), DEEPEST - 50, 50),
        Question(TABLE, "a thousand rows", Query(tri="score"), 0, DEEPEST),
    ]


def _queries(values: Values) -> dict[str, Query]:
    """The search of each kind, by the name of the kind."""
    ca, staff = quantile(values.ca, 0.5), quantile(values.effectif, 0.5)
    median = 1.0 if ca is None else ca
    groups = tuple(sorted(group for _, group in values.groupes))
    return {
        "nothing found": Query(q="qxqzqxqz"),
        "punctuation only": Query(q="… — !!"),
        "120 characters": Query(q=("société générale " * 8)[:120]),
        "120 times one letter": Query(q="a" * 120),
        "one letter on each side of a blank": Query(q="e o"),
        "blanks and one letter": Query(q="  e  "),
        "three one-letter words": Query(q="s a r"),
        "five words": Query(q="the and und et de"),
        "a figure": Query(q="1"),
        "a zero": Query(q="0"),
        "Greek": Query(q="ψυχή"),
        "Cyrillic": Query(q="ооо"),
        "a sharp s": Query(q="ß"),
        "a whole name": Query(q=values.noms[0]),
        "a whole identifier": Query(q=values.ids[0]),
        "contradictory bounds": Query(ranges=(Range("ca_eur", median, median - 1),)),
        "bounds in one point": Query(ranges=(Range("ca_eur", median, median),), tri="nom"),
        "negative turnover": Query(ranges=(Range("ca_eur", None, -0.01),), tri="ca_asc"),
        "a turnover of zero": Query(ranges=(Range("ca_eur", 0, 0),), tri="recent"),
        "more than anybody turns over": Query(ranges=(Range("ca_eur", 1e300),)),
        "headcount of exactly the median": Query(
            ranges=(Range("effectif", staff, staff),), tri="capital_desc"
        ),
        "any headcount, with website, by name": Query(
            ranges=(Range("effectif", 0),), site_web=True, tri="nom"
        ),
        "the greatest headcount there can be": Query(ranges=(Range("effectif", 2**31 - 1),)),
        "with website, oldest order of all": Query(site_web=True, tri="ca_asc"),
        "every sector × every country": Query(
            pays=tuple(sorted(values.pays)), secteurs=tuple(sorted(values.secteurs))
        ),
        "every sub-sector": Query(secteurs=tuple(sorted(values.secteurs)), sous_secteurs=groups),
        "no sub-sector at all": Query(secteurs=values.secteurs[:1], sous_secteurs=()),
        "the smallest country and sector": Query(values.pays[-1:], values.secteurs[-1:]),
        "all filters at once": Query(
            values.pays[:10],
            values.secteurs[:40],
            None,
            "e",
            "nom",
            (Range("ca_eur", 0), Range("effectif", 0)),
            site_web=True,
            avec_ca=True,
        ),
    }
