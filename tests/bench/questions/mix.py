"""Random searches of every class: the main table of the bench.

Each parameter is drawn for each question: countries, sectors, bounds from narrow to wide, substrings
of many, few or no names, orders, offsets, limits. The same values and seed give the same questions.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Final

from shards.query import DEEPEST, ORDERS, STATES, Query, Range
from tests.bench.questions.question import PAGE, Goal, Question
from tests.bench.questions.values import Values

TABLE: Final = "mix"  # the table of these questions in a report
# The kind of searches with filters of extensions X2.
FILTERED: Final = "state, town, postcode, form, activity, date, assets"
Draw = Callable[[Values, random.Random], Query]


def questions(values: Values, chance: random.Random, per_kind: int) -> list[Question]:
    """Draw `per_kind` questions of every kind."""
    return [
        Question(
            TABLE, kind, replace(draw(values, chance), tri=chance.choice(ORDERS)), *_page(chance)
        )
        for kind, draw in _DRAWS.items()
        for _ in range(per_kind)
    ]


def _page(chance: random.Random) -> tuple[int, int]:
    """Draw an offset and a limit: mostly the first page, sometimes a deep one."""
    limit = PAGE if chance.random() < 0.8 else chance.choice((1, 10, 100, 500))
    offset = 0 if chance.random() < 0.6 else chance.randint(1, DEEPEST - PAGE)
    return min(offset, DEEPEST - limit), limit


# -- scopes and bounds ---------------------------------------------------------------


def _sample(values: tuple[str, ...], chance: random.Random, most: int) -> tuple[str, ...]:
    """One to `most` random values, sorted."""
    count = min(len(values), chance.randint(1, most))
    return tuple(sorted(chance.sample(values, count)))


def _scope(values: Values, chance: random.Random) -> Query:
    """A scope: everything, one country or sector, or several countries and sectors."""
    draw = chance.choice((_everything, _everything, _single_scope, _wide_scope))
    return draw(values, chance)


def _everything(values: Values, chance: random.Random) -> Query:
    """The scope of all companies."""
    return Query()


def _single_scope(values: Values, chance: random.Random) -> Query:
    """One country, one sector, or one sector of one country."""
    pays, secteurs = _sample(values.pays, chance, 1), _sample(values.secteurs, chance, 1)
    return chance.choice((Query(pays=pays), Query(secteurs=secteurs), Query(pays, secteurs)))


def _wide_scope(values: Values, chance: random.Random) -> Query:
    """Up to 20 countries and up to 30 sectors."""
    return Query(_sample(values.pays, chance, 20), _sample(values.secteurs, chance, 30))


def _sub_sector(values: Values, chance: random.Random) -> Query:
    """One sub-sector, in all countries, one country or up to ten."""
    secteur, groupe = chance.choice(values.groupes)
    pays = chance.choice(((), _sample(values.pays, chance, 1), _sample(values.pays, chance, 10)))
    return Query(pays=pays, secteurs=(secteur,), sous_secteurs=(groupe,))


def _bounds(
    ascending: tuple[float, ...], chance: random.Random
) -> tuple[float | None, float | None]:
    """One or two values of the data as bounds, narrow as often as wide."""
    if not ascending:
        return 0, None
    start = chance.randrange(len(ascending))
    # The exponent is uniform, so widths of 1 to 10 values are as frequent as widths of 10 to 100.
    width = int(len(ascending) ** chance.random())
    low, high = ascending[start], ascending[min(start + width, len(ascending) - 1)]
    return chance.choice(((low, high), (low, high), (low, None), (None, high)))


def _turnover(values: Values, chance: random.Random) -> Query:
    """A query with bounds of the turnover in a random scope (countries and sectors)."""
    low, high = _bounds(values.ca, chance)
    return replace(_scope(values, chance), ranges=(Range("ca_eur", low, high),))


def _headcount(values: Values, chance: random.Random) -> Query:
    """A query with bounds of the headcount in a random scope (countries and sectors)."""
    low, high = _bounds(values.effectif, chance)
    return replace(_scope(values, chance), ranges=(Range("effectif", low, high),))


def _headcount_website(values: Values, chance: random.Random) -> Query:
    """Bounds of the headcount, and a web site."""
    return replace(_headcount(values, chance), site_web=True)


def _all_bounds(values: Values, chance: random.Random) -> Query:
    """Bounds of the headcount and of the turnover, and a web site."""
    low, high = _bounds(values.ca, chance)
    query = _headcount_website(values, chance)
    return replace(query, ranges=(*query.ranges, Range("ca_eur", low, high)))


# -- searches with `q` -----------------------------------------------------------------


def _letters(values: Values, chance: random.Random, length: int) -> str:
    """A substring of a name or of a word, or random letters, of `length` characters."""
    origin = chance.random()
    for _ in range(100):
        text = chance.choice(values.noms if origin < 0.5 else values.mots)
        start = chance.randint(0, max(0, len(text) - length))
        substring = text[start : start + length]
        if origin < 0.9 and len(substring) == length and " " not in substring:
            return substring
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=length))


def _q_draw(*lengths: int) -> Draw:
    """A function that draws a `q` of one of `lengths` characters."""
    return lambda values, chance: Query(q=_letters(values, chance, chance.choice(lengths)))


def _q_and_turnover(values: Values, chance: random.Random) -> Query:
    """A `q` of five letters with bounds of the turnover."""
    return replace(_turnover(values, chance), q=_letters(values, chance, 5))


def _q_and_ranges(values: Values, chance: random.Random) -> Query:
    """A `q` with bounds of headcount and turnover in several countries and sectors."""
    staff = _headcount(values, chance)
    return replace(
        _wide_scope(values, chance), q=_letters(values, chance, chance.choice((3, 4, 5, 6))),
        ranges=(*staff.ranges, Range("ca_eur", _bounds(values.ca, chance)[0])),
    )  # fmt: skip


def _q_with_blank(values: Values, chance: random.Random) -> Query:
    """A substring that spans two or more words of a name."""
    several = [nom for nom in values.noms[:1_000] if " " in nom] or ["a b"]
    text = chance.choice(several)
    blank = text.index(" ")
    start, end = chance.randint(0, blank - 1), chance.randint(blank + 2, len(text))
    return Query(q=text[start:end].strip())


def _identifier_draw(least: int, most: int) -> Draw:
    """A function that draws a prefix of `least` to `most` characters of an identifier."""

    def draw(values: Values, chance: random.Random) -> Query:
        """Draw a prefix of an identifier of a company or, in one draw of ten, of "999999"."""
        identifier = chance.choice(values.ids) if chance.random() < 0.9 else "999999"
        return Query(q=identifier[: chance.randint(least, most)])

    return draw


# -- the filters of extensions X2 ------------------------------------------------------


def _filter(values: Values, chance: random.Random) -> Query:
    """A random filter of extensions X2, with values of companies: frequent values are drawn often."""
    filter_number = chance.randrange(7)
    if filter_number == 0:
        return Query(etats=tuple(chance.sample(STATES, chance.randint(1, 2))))
    if filter_number == 1 and values.villes:
        return Query(villes=tuple(chance.choices(values.villes, k=chance.choice((1, 1, 3)))))
    if filter_number == 2 and values.codes_postaux:
        code = chance.choice(values.codes_postaux)
        return Query(codes_postaux=(code[: chance.randint(1, len(code))],))
    if filter_number == 3 and values.formes:
        return Query(formes=tuple(chance.choices(values.formes, k=chance.choice((1, 2)))))
    if filter_number == 4 and values.nace:
        codes = chance.choices(values.nace, k=chance.choice((1, 1, 2)))
        return Query(nace=tuple(code[: chance.choice((2, 4, 5))] for code in codes))
    if filter_number == 5:
        low, high = _bounds(values.cree, chance)
        return Query(ranges=(Range("creation", low, high),))
    low, high = _bounds(values.actif, chance)
    return Query(ranges=(Range("actif_eur", low, high),), avec_comptes=chance.random() < 0.3)


def _several_filters(values: Values, chance: random.Random) -> Query:
    """One to three filters of extensions X2, mostly with other conditions."""
    base_draws = (_scope, _scope, _turnover, _headcount, _all_bounds, _sub_sector, _q_draw(3, 5))
    query = chance.choice(base_draws)(values, chance)
    for _ in range(chance.randint(1, 3)):
        filter_query = _filter(values, chance)
        # A later range of a column replaces an earlier one.
        range_by_column = {
            range_.column: range_ for range_ in (*query.ranges, *filter_query.ranges)
        }
        query = replace(query, **{
            field.name: getattr(filter_query, field.name) for field in fields(Query)
            if getattr(filter_query, field.name) != field.default
        } | {"ranges": tuple(range_by_column.values())})  # fmt: skip
    return query


# The function that draws a search of each kind.
_DRAWS: Final[Mapping[str, Draw]] = {
    "one country or sector": _single_scope,
    "several countries × sectors": _wide_scope,
    "sub-sector": _sub_sector,
    "turnover range, any scope and order": _turnover,
    "headcount range, any scope and order": _headcount,
    "turnover + headcount + website": _all_bounds,
    "headcount + website, every order": _headcount_website,
    "`q` 1 letter": _q_draw(1),
    "`q` 2 or 3 letters": _q_draw(2, 3),
    "`q` 5 letters": _q_draw(5),
    "`q` 10 letters": _q_draw(10),
    "`q` 5 letters + turnover range": _q_and_turnover,
    "`q` with a blank inside": _q_with_blank,
    "`q` + ranges + countries × sectors": _q_and_ranges,
    "identifier prefix, 3 and more characters": _identifier_draw(3, 6),
    "identifier prefix, 1–2 characters": _identifier_draw(1, 2),
    FILTERED: _several_filters,
}
# The goals of each kind: milliseconds of p50 and of p99, and the ratio of the best peer's time to ours.
GOALS: Final[Mapping[str, Goal]] = {
    "one country or sector": Goal(0.5, 3, 15),
    "several countries × sectors": Goal(1, 4, 100),
    "sub-sector": Goal(1, 4, 15),
    "turnover range, any scope and order": Goal(1, 15, 15),
    "headcount range, any scope and order": Goal(1, 15, 50),
    "turnover + headcount + website": Goal(3, 15, 20),
    "headcount + website, every order": Goal(2, 15, 50),
    "`q` 1 letter": Goal(3, 10, 200),
    "`q` 2 or 3 letters": Goal(2, 8, 300),
    "`q` 5 letters": Goal(2, 10, 20),
    "`q` 10 letters": Goal(1, 6, 30),
    "`q` 5 letters + turnover range": Goal(3, 12, 25),
    "`q` with a blank inside": Goal(p99=15),
    "`q` + ranges + countries × sectors": Goal(p99=15),
    "identifier prefix, 3 and more characters": Goal(0.3, 2),
    "identifier prefix, 1–2 characters": Goal(3, 12, 10),
    FILTERED: Goal(1, 15),
}
