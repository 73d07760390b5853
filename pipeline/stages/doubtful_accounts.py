"""Accounts that contradict themselves: they are withheld, written to the file of rejected lines, and counted.

- A balance sheet whose two sides differ by more than the rounding of its figures: total assets are compared with the
  total of the other side; without this total, with the sum of equity and debts, if equity and debts are complete.
  Incomplete debts are a fault only if the sum is larger than total assets. All lines of both sides are withheld.
- A turnover about 100 or 1 000 times the turnover of the years before and after, or 1/100 or 1/1 000 of it: filed in
  another unit. The first year is judged only if the two years after it agree, the last year only if the two years
  before it agree. If a company has only two years, both turnovers are withheld.
- A turnover at least eight times that of both the year before and the year after, or at most an eighth of both.
  Companies begin small and end small, so the first and the last year are judged only if they are large and eight times
  each of the two nearest years (the first year: of the only other year, if there is one other year).
- A result that is negligible compared with a large turnover, and unlike the result of any other year: filed
  in thousands or millions.
- Accounts of the company alone in some years and of its group in other years. The series with more years is kept; if
  both have the same number of years, the series of the company. All lines of the other series are withheld.

If a turnover is withheld, the complete income statement of its year is withheld: its other lines have the same unit.
The accounts of a company and the accounts of its group are judged separately if a year has both.
"""

from collections.abc import Iterable
from typing import Final

import polars as pl

from pipeline.canonical import GROUP_SUFFIX
from pipeline.seeds import Seeds
from pipeline.stages.rejections import REASON

# Reasons to withhold a line.
UNBALANCED: Final = "bilan non équilibré"
IMPLAUSIBLE: Final = "chiffre d'affaires 100 ou 1 000 fois celui des exercices voisins"
OUT_OF_LINE: Final = "chiffre d'affaires huit fois celui des exercices voisins, ou le huitième"
OTHER_UNIT: Final = "résultat d'une autre unité que le chiffre d'affaires"
OTHER_SERIES: Final = "comptes individuels et consolidés selon les exercices"
EXAMPLES: Final = 10  # the most examples of withheld accounts per reason, in the quality report

_BALANCE_STATEMENTS: Final = ("bilan_actif", "bilan_passif")  # the two sides of a balance sheet
_INCOME_STATEMENT: Final = "compte_resultat"
_TURNOVER: Final = "chiffre_affaires"  # the role of turnover in seeds/roles.csv
_RESULT: Final = "ProfitLoss"  # the code of the result
# Codes of seeds/postes.csv; of several codes for one figure, the first with a value counts.
_ASSETS: Final = ("TotalAssets", "Assets")
_EQUITY: Final = ("Equity", "NetAssetsLiabilities")
_OTHER_SIDE: Final = "LiabilitiesAndEquity"  # the total of the side of liabilities
_LIABILITIES: Final = "Liabilities"  # all debts
# Debts due within a year, and after a year; _DEBTS_WITHOUT_TERM are debts of an unknown term.
_DEBTS_WITHIN_A_YEAR, _DEBTS_AFTER_A_YEAR = "CreditorsDueWithinOneYear", "CreditorsDueAfterOneYear"
_DEBTS_WITHOUT_TERM: Final = "Creditors"
_PROVISIONS: Final = "ProvisionsForLiabilities"
# Lines of the side of liabilities that are neither debts, provisions nor equity.
_OTHER_LIABILITIES: Final = (
    "OtherEquityInstruments",
    "AppropriationsUntaxedReserves",
    "AccruedLiabilitiesNotExpressedWithinCreditorsSubtotal",
    "DeferredIncomeNotExpressedWithinCreditors",
)
_CODES: Final = (
    *_ASSETS, *_EQUITY, _OTHER_SIDE, _LIABILITIES, _DEBTS_WITHIN_A_YEAR, _DEBTS_AFTER_A_YEAR, _DEBTS_WITHOUT_TERM,
    _PROVISIONS, *_OTHER_LIABILITIES,
)  # fmt: skip
# The least number of nonzero amounts of a balance sheet from which its rounding (to thousands or millions) is inferred:
# one or two round amounts can be a coincidence.
_LEAST_AMOUNTS: Final = 4
_FACTORS: Final = ((50, 200), (500, 2_000))  # bounds of the ratios "about 100" and "about 1 000"
_AGREEING_RATIO: Final = 10  # the amounts of two years agree if their ratio is below this number
# In units of the currency. Two turnovers below _LEAST_JUDGED are not compared, because a young company can grow a
# hundredfold. Results, and outliers in the first or the last year, are judged only if the turnover is at least
# _LARGE_TURNOVER.
_LEAST_JUDGED: Final = 1_000_000
_LARGE_TURNOVER: Final = 100_000_000
# A turnover is an outlier from this multiple of the turnovers of other years on.
_OUTLIER_FACTOR: Final = 8
# A result is negligible if the turnover is larger than this multiple of it: one of them is then in another unit.
_NEGLIGIBLE_FACTOR: Final = 500_000

# Keys: a company or its group; a fiscal year of one of them; a series of years whose turnovers are compared.
_COMPANY_KEY: Final = ["id", "groupe"]
_YEAR_KEY: Final = [*_COMPANY_KEY, "exercice"]
_SERIES_KEY: Final = ["id", "serie"]


def add_reasons(lines: pl.LazyFrame, seeds: Seeds) -> pl.LazyFrame:
    """Add `motif`: the reason to withhold a line; null for other lines."""
    # `groupe`: a line of group accounts; `base`: the code without the ending of group accounts; `serie`: the series of
    # years to which a line belongs, null if own and group accounts are one series (`of_group`).
    split = lines.with_columns(
        groupe=pl.col("code").str.ends_with(GROUP_SUFFIX).fill_null(False),
        base=pl.col("code").str.strip_suffix(GROUP_SUFFIX),
    )
    codes = [row["code"] for row in seeds.tables["roles"] if row["role"] == _TURNOVER]
    mixed = _mixed_scope_series(split)
    split = split.join(mixed, on="id", how="left").with_columns(
        serie=pl.when(pl.col("of_group").is_null()).then("groupe")
    )
    # Columns of the joined lines: `balance` and `turnover` are reasons, `tiny` is true for a result of another unit.
    unbalanced = _unbalanced_years(split).with_columns(balance=pl.lit(UNBALANCED))
    turnovers = _turnovers(split, codes)
    joined = (
        split.join(unbalanced, on=_YEAR_KEY, how="left")
        .join(_implausible_turnovers(turnovers), on=_YEAR_KEY, how="left")
        .join(_tiny_results(split, turnovers), on=[*_YEAR_KEY, "base"], how="left")
    )
    reasons = (
        pl.when(pl.col("groupe") != pl.col("of_group")).then(pl.lit(OTHER_SERIES)),
        pl.when(pl.col("etat").is_in(_BALANCE_STATEMENTS)).then("balance"),
        pl.when(pl.col("etat") == _INCOME_STATEMENT).then("turnover"),
        pl.when(pl.col("tiny")).then(pl.lit(OTHER_UNIT)),
    )
    return joined.select(*lines.collect_schema(), pl.coalesce(reasons).alias(REASON))


def examples(lines: pl.LazyFrame) -> dict[str, int]:
    """The number of withheld lines of the first EXAMPLES accounts per reason, by `reason : company year`.

    Args:
        lines: the result of `add_reasons`.
    """
    label = pl.format("{} : {} {}", REASON, "id", "exercice").alias("compte")
    accounts = (
        lines.filter(pl.col(REASON).is_not_null())
        .group_by(REASON, label)
        .len()
        .sort(REASON, "compte")
        .group_by(REASON, maintain_order=True)
        .head(EXAMPLES)
        .collect(engine="streaming")
    )
    return dict(accounts.select("compte", "len").iter_rows())


# -- the company and its group -------------------------------------------------------


def _mixed_scope_series(split: pl.LazyFrame) -> pl.LazyFrame:
    """The companies with own accounts in some years and group accounts in other years, but never both in one year.

    Columns: `id`; and `of_group`, which is true if the series of the group is kept.
    """
    own, group = (~pl.col("groupe")).any(), pl.col("groupe").any()
    years = split.group_by("id", "exercice").agg(own=own, group=group)
    year_counts = years.group_by("id").agg(
        pl.col("own").sum(), pl.col("group").sum(), both=(pl.col("own") & pl.col("group")).any()
    )
    mixed = (pl.col("own") > 0) & (pl.col("group") > 0) & ~pl.col("both")
    return year_counts.filter(mixed).select("id", of_group=pl.col("group") > pl.col("own"))


# -- balance sheets ------------------------------------------------------------------


def _unbalanced_years(split: pl.LazyFrame) -> pl.LazyFrame:
    """The keys (_YEAR_KEY) of the balance sheets whose two sides differ.

    Total assets are compared with the first of these sums whose figures the sheet has: the total of the other side;
    equity and all debts; equity, debts by their term, provisions and the other lines of this side. A sheet with amounts
    in several currencies is not judged.

    Args:
        split: statement lines with the columns `groupe` and `base` (see `add_reasons`).
    """
    sheets = split.filter(
        pl.col("etat").is_in(_BALANCE_STATEMENTS) & pl.col("valeur").is_not_null()
    )
    # One row per balance sheet, with the amount of each code as a column.
    figures = sheets.group_by(_YEAR_KEY).agg(
        *(pl.col("valeur").filter(pl.col("base") == code).first().alias(code) for code in _CODES),
        unit=_unit(pl.col("valeur")),
        devises=pl.col("devise").n_unique(),
    )
    assets, equity = pl.coalesce(*_ASSETS), pl.coalesce(*_EQUITY)
    has_term = pl.any_horizontal(pl.col(_DEBTS_WITHIN_A_YEAR, _DEBTS_AFTER_A_YEAR).is_not_null())
    debts_without_term = pl.when(~has_term).then(_DEBTS_WITHOUT_TERM)
    debts = (
        pl.when(has_term)
        .then(pl.sum_horizontal(_DEBTS_WITHIN_A_YEAR, _DEBTS_AFTER_A_YEAR))
        .otherwise(debts_without_term)
    )
    sum_of_parts = pl.sum_horizontal(_PROVISIONS, *_OTHER_LIABILITIES) + debts + equity
    # If the debts are incomplete, a sum below total assets proves nothing, so only a larger sum is a fault.
    is_complete = pl.all_horizontal(
        pl.col(_DEBTS_WITHIN_A_YEAR, _DEBTS_AFTER_A_YEAR).is_not_null()
    ) | (debts_without_term.is_not_null() & pl.col(_PROVISIONS).is_not_null())
    # Total assets, equity and debts are three figures; each further figure can add one unit of rounding.
    figure_count = 3 + pl.sum_horizontal(
        pl.col(_PROVISIONS, _DEBTS_AFTER_A_YEAR, *_OTHER_LIABILITIES).is_not_null()
    )
    # A comparison without its figures is null, and the next one is used. If all are null, the sheet is not judged.
    sides_agree = pl.coalesce(
        _is_near(assets, pl.col(_OTHER_SIDE), 2),
        _is_near(assets, equity + pl.col(_LIABILITIES), 3),
        pl.when(debts.is_not_null() & (is_complete | (sum_of_parts > assets))).then(
            _is_near(assets, sum_of_parts, figure_count)
        ),
    )
    return figures.filter(~sides_agree & (pl.col("devises") == 1)).select(_YEAR_KEY)


def _is_near(left: pl.Expr, right: pl.Expr, figures: int | pl.Expr) -> pl.Expr:
    """Whether two amounts differ by at most one unit of rounding for each of the `figures` added up."""
    return (left - right).abs() <= pl.col("unit") * figures


def _unit(amounts: pl.Expr) -> pl.Expr:
    """The unit to which all amounts of a balance sheet are rounded: 1, 1 000 or 1 000 000; 1 for a few amounts."""
    has_enough_amounts = (amounts != 0).sum() >= _LEAST_AMOUNTS
    return (
        pl.when(has_enough_amounts & (amounts % 1_000_000 == 0).all())
        .then(1_000_000)
        .when(has_enough_amounts & (amounts % 1_000 == 0).all())
        .then(1_000)
        .otherwise(1)
    )


# -- turnovers and results -----------------------------------------------------------


def _turnovers(split: pl.LazyFrame, codes: Iterable[str]) -> pl.LazyFrame:
    """The turnover of each year and code, with the turnovers of two years before and two years after it in its series.

    The years are, in order: `earlier`, `before`, the year itself (`valeur`), `after`, `later`.

    Args:
        split: statement lines with the columns `groupe`, `base` and `serie` (see `add_reasons`).
        codes: the codes of turnovers.
    """
    is_turnover = pl.col("base").is_in(list(codes)) & (pl.col("valeur") > 0)
    series_of_code = [*_SERIES_KEY, "base", "devise"]
    return (
        split.filter(is_turnover)
        .group_by(*series_of_code, "groupe", "exercice")
        .agg(pl.col("valeur").max())
        .with_columns(
            pl.col("valeur").shift(step).over(series_of_code, order_by="exercice").alias(name)
            for name, step in (("before", 1), ("earlier", 2), ("after", -1), ("later", -2))
        )
    )


def _implausible_turnovers(turnovers: pl.LazyFrame) -> pl.LazyFrame:
    """The years (_YEAR_KEY) whose turnover differs implausibly from the years around it, with the reason in `turnover`.

    The reason is IMPLAUSIBLE (about 100 or 1 000 times, or that fraction) or OUT_OF_LINE (see `_is_outlier`).
    """
    is_wrong_inner_year = (
        _is_above_or_below_both("before", "after") & _is_scaled("before") & _is_scaled("after")
    )
    is_wrong_first_year = (
        pl.col("before").is_null() & _is_scaled("after") & _years_agree("after", "later")
    )
    is_wrong_last_year = (
        pl.col("after").is_null() & _is_scaled("before") & _years_agree("before", "earlier")
    )
    return (
        turnovers.with_columns(
            turnover=pl.when(is_wrong_inner_year | is_wrong_first_year | is_wrong_last_year)
            .then(pl.lit(IMPLAUSIBLE))
            .when(_is_outlier())
            .then(pl.lit(OUT_OF_LINE))
        )
        .filter(pl.col("turnover").is_not_null())
        .group_by(_YEAR_KEY)
        .agg(pl.col("turnover").min())
    )


def _is_outlier() -> pl.Expr:
    """Whether the turnover is at least eight times the turnovers of the nearest years, or at most an eighth of them.

    The first and the last year are outliers only if they are far above, and large (see the opening of this module).
    """
    # A year between two other years. The year itself or both other years must be large (`is_large`).
    most, least = pl.max_horizontal("before", "after"), pl.min_horizontal("before", "after")
    is_inner_year = pl.all_horizontal(pl.col("before", "after").is_not_null())
    is_far_from_both = (pl.col("valeur") >= _OUTLIER_FACTOR * most) | (
        _OUTLIER_FACTOR * pl.col("valeur") <= least
    )
    # The first and the last year are compared with the two nearest years, or with the other of only two years.
    has_only_two_years = pl.col("later").is_null()
    is_first_far_above = (
        pl.col("before").is_null()
        & _is_far_above("after")
        & (has_only_two_years | _is_far_above("later"))
    )
    is_last_far_above = (
        pl.col("after").is_null() & _is_far_above("before") & _is_far_above("earlier")
    )
    # The two years with which an outlier is compared must agree with each other.
    neighbours_agree = (
        pl.when(is_first_far_above)
        .then(_years_agree("after", "later"))
        .otherwise(_years_agree("before", "earlier"))
    )
    is_end_outlier = (
        (is_first_far_above | is_last_far_above)
        & neighbours_agree
        & (pl.col("valeur") >= _LARGE_TURNOVER)
    )
    is_large = pl.max_horizontal("valeur", least) >= _LEAST_JUDGED
    return ((is_inner_year & is_far_from_both & is_large) | is_end_outlier).fill_null(False)


def _is_far_above(year: str) -> pl.Expr:
    """Whether the turnover is at least _OUTLIER_FACTOR times that of another year; false if there is no such year."""
    return (pl.col("valeur") >= _OUTLIER_FACTOR * pl.col(year)).fill_null(False)


def _tiny_results(split: pl.LazyFrame, turnovers: pl.LazyFrame) -> pl.LazyFrame:
    """The keys (_YEAR_KEY and code) of the results that are in another unit than the turnover, with `tiny` = true.

    Such a result is negligible beside a large turnover, and the result of no other year is about as small.
    """
    largest_turnovers = turnovers.group_by(*_YEAR_KEY, "devise").agg(
        turnover=pl.col("valeur").max()
    )
    results = split.filter((pl.col("base") == _RESULT) & (pl.col("valeur") != 0)).select(
        *_YEAR_KEY, "serie", "base", "devise", size=pl.col("valeur").abs()
    )
    # The years of the same series with which a result is compared, and the amounts of their results.
    sizes = results.select(*_SERIES_KEY, "devise", other_year="exercice", other_size="size")
    ratio = pl.max_horizontal("size", "other_size") / pl.min_horizontal("size", "other_size")
    tiny = (
        results.join(largest_turnovers, on=[*_YEAR_KEY, "devise"], nulls_equal=True)
        .filter(
            pl.col("turnover") >= _LARGE_TURNOVER,
            pl.col("turnover") > _NEGLIGIBLE_FACTOR * pl.col("size"),
        )
        .select(*_YEAR_KEY, "serie", "base", "devise", "size")
    )
    like_another_year = tiny.join(sizes, on=[*_SERIES_KEY, "devise"], nulls_equal=True).filter(
        pl.col("other_year") != pl.col("exercice"), ratio < _AGREEING_RATIO
    )
    result_key = [*_YEAR_KEY, "base"]
    return (
        tiny.join(like_another_year, on=result_key, how="anti")
        .select(result_key)
        .unique()
        .with_columns(tiny=True)
    )


def _is_scaled(year: str) -> pl.Expr:
    """Whether the turnover and that of another year have a ratio of about 100 or 1 000, in either direction."""
    larger, smaller = pl.max_horizontal("valeur", year), pl.min_horizontal("valeur", year)
    factor = larger / smaller
    is_scaled = pl.any_horizontal(factor.is_between(*bounds) for bounds in _FACTORS)
    return (is_scaled & (larger >= _LEAST_JUDGED) & pl.col(year).is_not_null()).fill_null(False)


def _is_above_or_below_both(year: str, other_year: str) -> pl.Expr:
    """Whether the turnover is above the turnovers of two other years, or below both."""
    above = (pl.col("valeur") > pl.col(year)) & (pl.col("valeur") > pl.col(other_year))
    below = (pl.col("valeur") < pl.col(year)) & (pl.col("valeur") < pl.col(other_year))
    return (above | below).fill_null(False)


def _years_agree(year: str, next_year: str) -> pl.Expr:
    """Whether the turnovers of two other years agree (_AGREEING_RATIO); true if there is no year `next_year`."""
    is_alike = (
        pl.max_horizontal(year, next_year) / pl.min_horizontal(year, next_year) < _AGREEING_RATIO
    )
    return pl.col(next_year).is_null() | is_alike
