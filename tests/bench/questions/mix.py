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

TABLE: Final = "mix"
FILTERED: Final = "state, town, postcode, form, activity, date, assets"
Draw = Callable[[Values, random.Random], Query]


def questions(values: Values, chance: random.Random, each: int) -> list[Question]:
    """`each` questions of every kind."""
    return [
        Question(
            TABLE, kind, replace(draw(values, chance), tri=chance.choice(ORDERS)), *_page(chance)
        )
        for kind, draw in _DRAWS.items()
        for _ in range(each)
    ]


def _page(chance: random.Random) -> tuple[int, int]:
    """Offset and limit: mostly the first page, sometimes the deepest row."""
    limit = PAGE if chance.random() < 0.8 else chance.choice((1, 10, 100, 500))
    offset = 0 if chance.random() < 0.6 else chance.randint(1, DEEPEST - PAGE)
    return min(offset, DEEPEST - limit), limit


# -- scopes and bounds ---------------------------------------------------------------


def _some(values: tuple[str, ...], chance: random.Random, most: int) -> tuple[str, ...]:
    count = min(len(values), chance.randint(1, most))
    return tuple(sorted(chance.sample(values, count)))


def _scope(values: Values, chance: random.Random) -> Query:
    """A scope: everything, one place, or several countries and sectors."""
    draw = chance.choice((_everything, _everything, _place, _places))
    return draw(values, chance)


def _everything(values: Values, chance: random.Random) -> Query:
    return Query()


def _place(values: Values, chance: random.Random) -> Query:
    """One country, one sector, or one sector of one country."""
    pays, secteurs = _some(values.pays, chance, 1), _some(values.secteurs, chance, 1)
    return chance.choice((Query(pays=pays), Query(secteurs=secteurs), Query(pays, secteurs)))


def _places(values: Values, chance: random.Random) -> Query:
    return Query(_some(values.pays, chance, 20), _some(values.secteurs, chance, 30))


def _sub_sector(values: Values, chance: random.Random) -> Query:
    secteur, groupe = chance.choice(values.groupes)
    pays = chance.choice(((), _some(values.pays, chance, 1), _some(values.pays, chance, 10)))
    return Query(pays=pays, secteurs=(secteur,), sous_secteurs=(groupe,))


def _bounds(
    ascending: tuple[float, ...], chance: random.Random
) -> tuple[float | None, float | None]:
    """One or two values of the data as bounds, narrow as often as wide."""
    if not ascending:
        return 0, None
    start = chance.randrange(len(ascending))
    width = int(len(ascending) ** chance.random())
    low, high = ascending[start], ascending[min(start + width, len(ascending) - 1)]
    return chance.choice(((low, high), (low, high), (low, None), (None, high)))


def _turnover(values: Values, chance: random.Random) -> Query:
    low, high = _bounds(values.ca, chance)
    return replace(_scope(values, chance), ranges=(Range("ca_eur", low, high),))


def _headcount(values: Values, chance: random.Random) -> Query:
    low, high = _bounds(values.effectif, chance)
    return replace(_scope(values, chance), ranges=(Range("effectif", low, high),))


def _headcount_website(values: Values, chance: random.Random) -> Query:
    return replace(_headcount(values, chance), site_web=True)


def _all_bounds(values: Values, chance: random.Random) -> Query:
    low, high = _bounds(values.ca, chance)
    query = _headcount_website(values, chance)
    return replace(query, ranges=(*query.ranges, Range("ca_eur", low, high)))


# -- `q` -------------------------------------------------------------------------------


def _letters(values: Values, chance: random.Random, length: int) -> str:
    """A substring of a name or of a word, or a text in no name, of `length` characters."""
    kind = chance.random()
    for _ in range(100):
        text = chance.choice(values.noms if kind < 0.5 else values.mots)
        start = chance.randint(0, max(0, len(text) - length))
        part = text[start : start + length]
        if kind < 0.9 and len(part) == length and " " not in part:
            return part
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=length))


def _named(*lengths: int) -> Draw:
    return lambda values, chance: Query(q=_letters(values, chance, chance.choice(lengths)))


def _named_somewhere(values: Values, chance: random.Random) -> Query:
    return replace(_turnover(values, chance), q=_letters(values, chance, 5))


def _named_narrowly(values: Values, chance: random.Random) -> Query:
    staff = _headcount(values, chance)
    return replace(
        _places(values, chance), q=_letters(values, chance, chance.choice((3, 4, 5, 6))),
        ranges=(*staff.ranges, Range("ca_eur", _bounds(values.ca, chance)[0])),
    )  # fmt: skip


def _blank(values: Values, chance: random.Random) -> Query:
    """A substring that spans two or more words of a name."""
    several = [nom for nom in values.noms[:1_000] if " " in nom] or ["a b"]
    text = chance.choice(several)
    blank = text.index(" ")
    start, end = chance.randint(0, blank - 1), chance.randint(blank + 2, len(text))
    return Query(q=text[start:end].strip())


def _identifier(least: int, most: int) -> Draw:
    def draw(values: Values, chance: random.Random) -> Query:
        known = chance.choice(values.ids) if chance.random() < 0.9 else "999999"
        return Query(q=known[: chance.randint(least, most)])

    return draw


# -- the filters of extensions X2 ------------------------------------------------------


def _filter(values: Values, chance: random.Random) -> Query:
    """One of these filters: by values of companies, frequent ones often."""
    kind = chance.randrange(7)
    if kind == 0:
        return Query(etats=tuple(chance.sample(STATES, chance.randint(1, 2))))
    if kind == 1 and values.villes:
        return Query(villes=tuple(chance.choices(values.villes, k=chance.choice((1, 1, 3)))))
    if kind == 2 and values.codes_postaux:
        code = chance.choice(values.codes_postaux)
        return Query(codes_postaux=(code[: chance.randint(1, len(code))],))
    if kind == 3 and values.formes:
        return Query(formes=tuple(chance.choices(values.formes, k=chance.choice((1, 2)))))
    if kind == 4 and values.nace:
        codes = chance.choices(values.nace, k=chance.choice((1, 1, 2)))
        return Query(nace=tuple(code[: chance.choice((2, 4, 5))] for code in codes))
    if kind == 5:
        low, high = _bounds(values.cree, chance)
        return Query(ranges=(Range("creation", low, high),))
    low, high = _bounds(values.actif, chance)
    return Query(ranges=(Range("actif_eur", low, high),), avec_comptes=chance.random() < 0.3)


def _filtered(values: Values, chance: random.Random) -> Query:
    """One to three of these filters, most of them with others."""
    others = (_scope, _scope, _turnover, _headcount, _all_bounds, _sub_sector, _named(3, 5))
    query = chance.choice(others)(values, chance)
    for _ in range(chance.randint(1, 3)):
        added = _filter(values, chance)
        bounded = {one.column: one for one in (*query.ranges, *added.ranges)}
        query = replace(query, **{
            field.name: getattr(added, field.name) for field in fields(Query)
            if getattr(added, field.name) != field.default
        } | {"ranges": tuple(bounded.values())})  # fmt: skip
    return query


_DRAWS: Final[Mapping[str, Draw]] = {
    "one country or sector": _place,
    "several countries × sectors": _places,
    "sub-sector": _sub_sector,
    "turnover range, any scope and order": _turnover,
    "headcount range, any scope and order": _headcount,
    "turnover + headcount + website": _all_bounds,
    "headcount + website, every order": _headcount_website,
    "`q` 1 letter": _named(1),
    "`q` 2 or 3 letters": _named(2, 3),
    "`q` 5 letters": _named(5),
    "`q` 10 letters": _named(10),
    "`q` 5 letters + turnover range": _named_somewhere,
    "`q` with a blank inside": _blank,
    "`q` + ranges + countries × sectors": _named_narrowly,
    "identifier prefix, 3 and more characters": _identifier(3, 6),
    "identifier prefix, 1–2 characters": _identifier(1, 2),
    FILTERED: _filtered,
}
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
