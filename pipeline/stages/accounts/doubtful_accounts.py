"""Accounts that contradict themselves: they are withheld, written apart and counted with examples.

- A balance sheet that does not close, by more than the rounding of its figures: total assets are
  held against the total of the other side, else against equity and debts where both are stated in
  full. What is stated in part can only be too much. All lines of both sides are withheld.
- A turnover about 100 or 1 000 times that of the years beside it, or such a part of it: filed in
  another unit. The first and the last year are judged only where the year beside them agrees with
  the next one. Of two years alone neither can be told to be right. The turnover is withheld.

The accounts of a company and those of its group are judged apart.
"""

from collections.abc import Iterable
from typing import Final

import polars as pl

from pipeline.canonical import GROUP
from pipeline.seeds import Seeds
from pipeline.stages.rejections import REASON

UNBALANCED: Final = "bilan non équilibré"
IMPLAUSIBLE: Final = "chiffre d'affaires 100 ou 1 000 fois celui des exercices voisins"
EXAMPLES: Final = 20

_SIDES: Final = ("bilan_actif", "bilan_passif")
_TURNOVER: Final = "chiffre_affaires"
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

_COMPANY: Final = ["id", "groupe"]
_YEAR: Final = [*_COMPANY, "exercice"]


def add_reasons(lines: pl.LazyFrame, seeds: Seeds) -> pl.LazyFrame:
    """Add `motif`: the reason to withhold a line, null for the others."""
    split = lines.with_columns(
        groupe=pl.col("code").str.ends_with(GROUP).fill_null(False),
        base=pl.col("code").str.strip_suffix(GROUP),
    )
    codes = [row["code"] for row in seeds.tables["roles"] if row["role"] == _TURNOVER]
    wrong = _unbalanced(split).with_columns(balance=pl.lit(UNBALANCED))
    scaled = _implausible(split, codes).with_columns(turnover=pl.lit(IMPLAUSIBLE))
    joined = split.join(wrong, on=_YEAR, how="left").join(scaled, on=[*_YEAR, "base"], how="left")
    on_a_side = pl.when(pl.col("etat").is_in(_SIDES)).then("balance")
    return joined.select(*lines.collect_schema(), pl.coalesce(on_a_side, "turnover").alias(REASON))


def examples(weighed: pl.LazyFrame) -> dict[str, int]:
    """Some accounts that were withheld, by reason, company and year, with the count of their lines."""
    named = pl.format("{} : {} {}", REASON, "id", "exercice").alias("compte")
    found = (
        weighed.filter(pl.col(REASON).is_not_null())
        .group_by(REASON, named)
        .len()
        .sort(REASON, "compte")
        .group_by(REASON, maintain_order=True)
        .head(EXAMPLES // 2)
        .collect(engine="streaming")
    )
    return dict(found.select("compte", "len").iter_rows())


# -- balance sheets ------------------------------------------------------------------


def _unbalanced(split: pl.LazyFrame) -> pl.LazyFrame:
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
        _near(assets, pl.col(_OTHER_SIDE), 2),
        _near(assets, equity + pl.col(_LIABILITIES), 3),
        pl.when(owed.is_not_null() & (in_full | (parts > assets))).then(
            _near(assets, parts, count)
        ),
    )
    return figures.filter(~closes & (pl.col("devises") == 1)).select(_YEAR)


def _near(left: pl.Expr, right: pl.Expr, figures: int | pl.Expr) -> pl.Expr:
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


def _implausible(split: pl.LazyFrame, codes: Iterable[str]) -> pl.LazyFrame:
    """The company, group, year and code of each turnover of another scale than those beside it."""
    of_role = pl.col("base").is_in(list(codes)) & (pl.col("valeur") > 0)
    key = [*_COMPANY, "base", "devise"]
    yearly = (
        split.filter(of_role)
        .group_by(*key, "exercice")
        .agg(pl.col("valeur").max())
        .with_columns(
            pl.col("valeur").shift(step).over(key, order_by="exercice").alias(name)
            for name, step in (("before", 1), ("earlier", 2), ("after", -1), ("later", -2))
        )
    )
    inside = _same_way("before", "after") & _scaled("before") & _scaled("after")
    first = pl.col("before").is_null() & _scaled("after") & _agree("after", "later")
    last = pl.col("after").is_null() & _scaled("before") & _agree("before", "earlier")
    return yearly.filter(inside | first | last).select(*_YEAR, "base").unique()


def _scaled(beside: str) -> pl.Expr:
    """Whether the turnover is about 100 or 1 000 times that of another year, or such a part of it."""
    larger, smaller = pl.max_horizontal("valeur", beside), pl.min_horizontal("valeur", beside)
    factor = larger / smaller
    near = pl.any_horizontal(factor.is_between(*bounds) for bounds in _FACTORS)
    return (near & (larger >= _SMALL) & pl.col(beside).is_not_null()).fill_null(False)


def _same_way(one: str, other: str) -> pl.Expr:
    above = (pl.col("valeur") > pl.col(one)) & (pl.col("valeur") > pl.col(other))
    below = (pl.col("valeur") < pl.col(one)) & (pl.col("valeur") < pl.col(other))
    return (above | below).fill_null(False)


def _agree(beside: str, beyond: str) -> pl.Expr:
    """Whether the year beside agrees with the one beyond it, if there is one."""
    near = pl.max_horizontal(beside, beyond) / pl.min_horizontal(beside, beyond) < _ALIKE
    return pl.col(beyond).is_null() | near
