"""Accounts that contradict themselves: they are withheld, written apart and counted with examples.

- A balance sheet that does not close, by more than the rounding of its figures: total assets are
  held against the total of the other side, else against equity and debts where both are stated in
  full. What is stated in part can only be too much. All lines of both sides are withheld.
- A turnover about 100 or 1 000 times that of the years beside it, or such a part of it: filed in
  another unit. The first and the last year are judged only where the year beside them agrees with
  the next one. Of two years alone neither can be told to be right.
- A turnover eight times that of both years beside it, or an eighth of both. Companies begin small and
  end small, so the first and the last year are judged only where they are large and above the two
  years beside them (the first: above the one beside it, if there is no other).
- A result that is nothing beside a large turnover, and unlike that of any other year: filed in
  thousands or millions.
- Accounts of the company alone in some years and of its group in others. One series is kept: that of
  more years, of two equal ones that of the company. All lines of the other are withheld.

With a turnover the income statement of its year is withheld: its other lines are of the same unit.
The accounts of a company and those of its group are judged apart where a year has both.
"""

from collections.abc import Iterable
from typing import Final

import polars as pl

from pipeline.canonical import GROUP
from pipeline.seeds import Seeds
from pipeline.stages.rejections import REASON

UNBALANCED: Final = "bilan non équilibré"
IMPLAUSIBLE: Final = "chiffre d'affaires 100 ou 1 000 fois celui des exercices voisins"
OUT_OF_LINE: Final = "chiffre d'affaires huit fois celui des exercices voisins, ou le huitième"
OTHER_UNIT: Final = "résultat d'une autre unité que le chiffre d'affaires"
OTHER_SERIES: Final = "comptes individuels et consolidés selon les exercices"
EXAMPLES: Final = 10  # of a reason

_SIDES: Final = ("bilan_actif", "bilan_passif")
_INCOME: Final = "compte_resultat"
_TURNOVER: Final = "chiffre_affaires"
_RESULT: Final = "ProfitLoss"
# Codes of seeds/postes.csv; of several for one figure the first that is stated counts.
_ASSETS: Final = ("TotalAssets", "Assets")
_EQUITY: Final = ("Equity", "NetAssetsLiabilities")
_OTHER_SIDE: Final = "LiabilitiesAndEquity"
_LIABILITIES: Final = "Liabilities"
_WITHIN, _AFTER = "CreditorsDueWithinOneYear", "CreditorsDueAfterOneYear"
_CREDITORS: Final = "Creditors"
_PROVISIONS: Final = "ProvisionsForLiabilities"
_BESIDE: Final = (
    "OtherEquityInstruments",
    "AppropriationsUntaxedReserves",
    "AccruedLiabilitiesNotExpressedWithinCreditorsSubtotal",
    "DeferredIncomeNotExpressedWithinCreditors",
)
_CODES: Final = (
    *_ASSETS, *_EQUITY, _OTHER_SIDE, _LIABILITIES, _WITHIN, _AFTER, _CREDITORS, _PROVISIONS,
    *_BESIDE,
)  # fmt: skip
_FEWEST: Final = 4  # amounts from which on all may be told to be rounded to thousands
_FACTORS: Final = ((50, 200), (500, 2_000))  # about 100, about 1 000
_ALIKE: Final = 10  # years whose turnovers are nearer than this agree
_SMALL: Final = 1_000_000  # a young company may well grow a hundredfold up to this turnover
_LARGE: Final = 100_000_000
_OUT: Final = 8  # times the turnover of both years beside it
_NOTHING: Final = 500_000  # times the result: such a turnover and a result are of two units

_COMPANY: Final = ["id", "groupe"]
_YEAR: Final = [*_COMPANY, "exercice"]
_SERIES: Final = ["id", "serie"]


def add_reasons(lines: pl.LazyFrame, seeds: Seeds) -> pl.LazyFrame:
    """Add `motif`: the reason to withhold a line, null for the others."""
    split = lines.with_columns(
        groupe=pl.col("code").str.ends_with(GROUP).fill_null(False),
        base=pl.col("code").str.strip_suffix(GROUP),
    )
    codes = [row["code"] for row in seeds.tables["roles"] if row["role"] == _TURNOVER]
    kept = _kept_series(split)
    split = split.join(kept, on="id", how="left").with_columns(
        serie=pl.when(pl.col("of_group").is_null()).then("groupe")
    )
    wrong = _unbalanced_years(split).with_columns(balance=pl.lit(UNBALANCED))
    yearly = _turnovers(split, codes)
    joined = (
        split.join(wrong, on=_YEAR, how="left")
        .join(_implausible_turnovers(yearly), on=_YEAR, how="left")
        .join(_tiny_results(split, yearly), on=[*_YEAR, "base"], how="left")
    )
    reasons = (
        pl.when(pl.col("groupe") != pl.col("of_group")).then(pl.lit(OTHER_SERIES)),
        pl.when(pl.col("etat").is_in(_SIDES)).then("balance"),
        pl.when(pl.col("etat") == _INCOME).then("turnover"),
        pl.when(pl.col("tiny")).then(pl.lit(OTHER_UNIT)),
    )
    return joined.select(*lines.collect_schema(), pl.coalesce(reasons).alias(REASON))


def examples(weighed: pl.LazyFrame) -> dict[str, int]:
    """Some accounts that were withheld, by reason, company and year, with the count of their lines."""
    named = pl.format("{} : {} {}", REASON, "id", "exercice").alias("compte")
    found = (
        weighed.filter(pl.col(REASON).is_not_null())
        .group_by(REASON, named)
        .len()
        .sort(REASON, "compte")
        .group_by(REASON, maintain_order=True)
        .head(EXAMPLES)
        .collect(engine="streaming")
    )
    return dict(found.select("compte", "len").iter_rows())


# -- the company and its group -------------------------------------------------------


def _kept_series(split: pl.LazyFrame) -> pl.LazyFrame:
    """The companies whose years are in part their own and in part the group's: `of_group`, which is kept."""
    own, group = (~pl.col("groupe")).any(), pl.col("groupe").any()
    years = split.group_by("id", "exercice").agg(own=own, group=group)
    counted = years.group_by("id").agg(
        pl.col("own").sum(), pl.col("group").sum(), both=(pl.col("own") & pl.col("group")).any()
    )
    mixed = (pl.col("own") > 0) & (pl.col("group") > 0) & ~pl.col("both")
    return counted.filter(mixed).select("id", of_group=pl.col("group") > pl.col("own"))


# -- balance sheets ------------------------------------------------------------------


def _unbalanced_years(split: pl.LazyFrame) -> pl.LazyFrame:
    """The company, group and year of each balance sheet that does not close."""
    sheets = split.filter(pl.col("etat").is_in(_SIDES) & pl.col("valeur").is_not_null())
    figures = sheets.group_by(_YEAR).agg(
        *(pl.col("valeur").filter(pl.col("base") == code).first().alias(code) for code in _CODES),
        unit=_unit(pl.col("valeur")),
        devises=pl.col("devise").n_unique(),
    )
    assets, equity = pl.coalesce(*_ASSETS), pl.coalesce(*_EQUITY)
    is_dated = pl.any_horizontal(pl.col(_WITHIN, _AFTER).is_not_null())
    undated = pl.when(~is_dated).then(_CREDITORS)
    owed = pl.when(is_dated).then(pl.sum_horizontal(_WITHIN, _AFTER)).otherwise(undated)
    parts = pl.sum_horizontal(_PROVISIONS, *_BESIDE) + owed + equity
    in_full = pl.all_horizontal(pl.col(_WITHIN, _AFTER).is_not_null()) | (
        undated.is_not_null() & pl.col(_PROVISIONS).is_not_null()
    )
    count = 3 + pl.sum_horizontal(pl.col(_PROVISIONS, _AFTER, *_BESIDE).is_not_null())
    closes = pl.coalesce(
        _is_near(assets, pl.col(_OTHER_SIDE), 2),
        _is_near(assets, equity + pl.col(_LIABILITIES), 3),
        pl.when(owed.is_not_null() & (in_full | (parts > assets))).then(
            _is_near(assets, parts, count)
        ),
    )
    return figures.filter(~closes & (pl.col("devises") == 1)).select(_YEAR)


def _is_near(left: pl.Expr, right: pl.Expr, figures: int | pl.Expr) -> pl.Expr:
    """Whether two amounts agree but for one unit of each of the rounded `figures`."""
    return (left - right).abs() <= pl.col("unit") * figures


def _unit(amounts: pl.Expr) -> pl.Expr:
    """The unit to which all amounts of a balance sheet are rounded."""
    many = (amounts != 0).sum() >= _FEWEST
    return (
        pl.when(many & (amounts % 1_000_000 == 0).all())
        .then(1_000_000)
        .when(many & (amounts % 1_000 == 0).all())
        .then(1_000)
        .otherwise(1)
    )


# -- turnovers -----------------------------------------------------------------------


def _turnovers(split: pl.LazyFrame, codes: Iterable[str]) -> pl.LazyFrame:
    """The turnover of each year and code, with those of the two years before and after in its series."""
    of_role = pl.col("base").is_in(list(codes)) & (pl.col("valeur") > 0)
    key = [*_SERIES, "base", "devise"]
    return (
        split.filter(of_role)
        .group_by(*key, "groupe", "exercice")
        .agg(pl.col("valeur").max())
        .with_columns(
            pl.col("valeur").shift(step).over(key, order_by="exercice").alias(name)
            for name, step in (("before", 1), ("earlier", 2), ("after", -1), ("later", -2))
        )
    )


def _implausible_turnovers(yearly: pl.LazyFrame) -> pl.LazyFrame:
    """The company, group and year of each turnover of another scale than those beside it: `turnover`, why."""
    inside = _same_way("before", "after") & _is_scaled("before") & _is_scaled("after")
    first = pl.col("before").is_null() & _is_scaled("after") & _agree("after", "later")
    last = pl.col("after").is_null() & _is_scaled("before") & _agree("before", "earlier")
    return (
        yearly.with_columns(
            turnover=pl.when(inside | first | last)
            .then(pl.lit(IMPLAUSIBLE))
            .when(_out_of_line())
            .then(pl.lit(OUT_OF_LINE))
        )
        .filter(pl.col("turnover").is_not_null())
        .group_by(_YEAR)
        .agg(pl.col("turnover").min())
    )


def _out_of_line() -> pl.Expr:
    """Whether the turnover is eight times those beside it, or within the series an eighth of both."""
    most, least = pl.max_horizontal("before", "after"), pl.min_horizontal("before", "after")
    inside = pl.all_horizontal(pl.col("before", "after").is_not_null())
    far = (pl.col("valeur") >= _OUT * most) | (_OUT * pl.col("valeur") <= least)
    alone = pl.col("later").is_null()
    first = pl.col("before").is_null() & _is_far_above("after") & (alone | _is_far_above("later"))
    last = pl.col("after").is_null() & _is_far_above("before") & _is_far_above("earlier")
    agree = pl.when(first).then(_agree("after", "later")).otherwise(_agree("before", "earlier"))
    ends = (first | last) & agree & (pl.col("valeur") >= _LARGE)
    large = pl.max_horizontal("valeur", least) >= _SMALL
    return ((inside & far & large) | ends).fill_null(False)


def _is_far_above(beside: str) -> pl.Expr:
    return (pl.col("valeur") >= _OUT * pl.col(beside)).fill_null(False)


def _tiny_results(split: pl.LazyFrame, yearly: pl.LazyFrame) -> pl.LazyFrame:
    """The results, by company, group, year and code, that are of another unit than the turnover: `tiny`."""
    large = yearly.group_by(*_YEAR, "devise").agg(turnover=pl.col("valeur").max())
    results = split.filter((pl.col("base") == _RESULT) & (pl.col("valeur") != 0)).select(
        *_YEAR, "serie", "base", "devise", size=pl.col("valeur").abs()
    )
    sizes = results.select(*_SERIES, "devise", other="exercice", beside="size")
    ratio = pl.max_horizontal("size", "beside") / pl.min_horizontal("size", "beside")
    tiny = (
        results.join(large, on=[*_YEAR, "devise"], nulls_equal=True)
        .filter(pl.col("turnover") >= _LARGE, pl.col("turnover") > _NOTHING * pl.col("size"))
        .select(*_YEAR, "serie", "base", "devise", "size")
    )
    alike = tiny.join(sizes, on=[*_SERIES, "devise"], nulls_equal=True).filter(
        pl.col("other") != pl.col("exercice"), ratio < _ALIKE
    )
    key = [*_YEAR, "base"]
    return tiny.join(alike, on=key, how="anti").select(key).unique().with_columns(tiny=True)


def _is_scaled(beside: str) -> pl.Expr:
    """Whether the turnover is about 100 or 1 000 times that of another year, or such a part of it."""
    larger, smaller = pl.max_horizontal("valeur", beside), pl.min_horizontal("valeur", beside)
    factor = larger / smaller
    near = pl.any_horizontal(factor.is_between(*bounds) for bounds in _FACTORS)
    return (near & (larger >= _SMALL) & pl.col(beside).is_not_null()).fill_null(False)


def _same_way(column: str, other: str) -> pl.Expr:
    above = (pl.col("valeur") > pl.col(column)) & (pl.col("valeur") > pl.col(other))
    below = (pl.col("valeur") < pl.col(column)) & (pl.col("valeur") < pl.col(other))
    return (above | below).fill_null(False)


def _agree(beside: str, beyond: str) -> pl.Expr:
    """Whether the year beside agrees with the one beyond it, if there is one."""
    near = pl.max_horizontal(beside, beyond) / pl.min_horizontal(beside, beyond) < _ALIKE
    return pl.col(beyond).is_null() | near
