"""Statement lines: their selection, and the fields of companies filled from them.

A line that cannot be read, or whose company is not in the input, is left out and counted. Exact
copies count once. A line without a label gets the label of its code. The last five fiscal years of a
company are kept (contract E5).

The kept lines fill the years of a company, and the figures that the register does not publish: turnover, headcount,
total assets, capital. Each figure is from the newest year that has a line for it. The line is recognised by the codes
of `seeds/roles.csv`, in their order; total assets also by label. Group accounts fill no figure: a company is not its
group.

Invariant: an amount is filled together with its year, currency and multiplier, or not at all. So a
record never combines the figure of one source with the year of another source.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import polars as pl

from pipeline.canonical import GROUP_SUFFIX
from pipeline.seeds import Seeds
from pipeline.stages.implausible_values import EARLIEST, HUGE, MOST_MONEY, MOST_STAFF, NO_CURRENCY
from pipeline.stages.rejections import REASON
from shards.codec.record import ETATS

MOST_YEARS: Final = 5  # the fiscal years kept per company (contract E5)
# The figures that statements fill, as `seeds/roles.csv` names them.
ROLES: Final = ("chiffre_affaires", "effectif", "total_actif", "capital_social")
# Folded labels (contract B15) of total assets, for registers with labels and no codes.
TOTAL_ASSETS: Final = (
    "total actif",
    "total de l actif",
    "total general actif",
    "total general de l actif",
    "total des actifs",
    "total du bilan",
    "total bilan",
)
# Reasons for a line that is not stored.
NO_COMPANY: Final = "société absente"
COPY: Final = "copie"
TOO_OLD: Final = "exercice ancien"
_FIGURE_PARTS: Final = ("valeur", "exercice", "devise")  # the columns of a line that a figure uses
PRESENT: Final = "has_lines"  # working column: whether the company has statement lines
# The columns of a stored line.
LINES: Final = ("id", "exercice", "etat", "code", "libelle", "valeur", "devise", "ordre")
_LAST_POSITION: Final = 2**31 - 1  # the largest valid `ordre`
_ASSETS_STATEMENT: Final = "bilan_actif"  # a label of TOTAL_ASSETS counts in this statement only


class _Figure(NamedTuple):
    """An amount of a company that statement lines fill.

    Attributes:
        role: the role in `seeds/roles.csv` of the lines.
        unless: the amount is filled only if these columns are all null.
        columns: for each column of the company, the column of the line that fills it.
        multiplier: the column that is set to 1 when the amount is filled.
    """

    role: str
    unless: tuple[str, ...]
    columns: Mapping[str, str]
    multiplier: str | None = None


# The amounts that statements fill; the headcount is filled by `_fill_staff`.
_FIGURES: Final = (
    _Figure(
        "chiffre_affaires",
        # A published ca_eur has its own year and currency, which statements could contradict.
        ("ca_last", "ca_eur"),
        {"ca_last": "valeur", "ca_year": "exercice", "ca_devise": "devise"},
        "ca_mult",
    ),
    _Figure(
        "total_actif",
        ("total_actif_last",),
        {"total_actif_last": "valeur", "exercice_actif": "exercice", "devise": "devise"},
        "unite_mult",
    ),
    _Figure(
        "capital_social",
        ("capital_social",),
        {"capital_social": "valeur", "capital_devise": "devise"},
    ),
)


def faults(last_year: int) -> dict[str, pl.Expr]:
    """The reasons to leave a line out, with their conditions; fiscal years are valid up to `last_year`."""
    year, amount = pl.col("exercice"), pl.col("valeur")
    return {
        "état inconnu": ~pl.col("etat").is_in(ETATS).fill_null(False),
        "exercice absent ou invraisemblable": ~year.is_between(EARLIEST, last_year).fill_null(
            False
        ),
        "code et libellé absents": pl.col("code").is_null() & pl.col("libelle").is_null(),
        "valeur absente ou non finie": ~amount.is_finite().fill_null(False),
        HUGE: amount.abs() > MOST_MONEY,
        # A line without a currency is good: its figure can be a number of persons.
        NO_CURRENCY: ~pl.col("devise").str.contains(r"^[A-Z]{3}$").fill_null(True),
    }


def add_reasons(comptes: pl.LazyFrame, companies: pl.LazyFrame, last_year: int) -> pl.LazyFrame:
    """Add `motif`: the reason to leave a line out; null for a good line of one of `companies`.

    An invalid position (`ordre`: negative, or over _LAST_POSITION) becomes null, because positions only sort lines.
    """
    present = companies.select("id", known=pl.lit(True))
    absent = pl.when(pl.col("known").is_null()).then(pl.lit(NO_COMPANY))
    reasons = [pl.when(fault).then(pl.lit(name)) for name, fault in faults(last_year).items()]
    position = pl.col("ordre")
    joined = comptes.join(present, on="id", how="left")
    return joined.with_columns(
        pl.coalesce(absent, *reasons).alias(REASON),
        pl.when(position.is_between(0, _LAST_POSITION)).then(position).alias("ordre"),
    ).drop("known")


def drop_copies(marked: pl.LazyFrame) -> pl.LazyFrame:
    """The lines without a reason to leave them out; of lines that are equal in all columns of LINES, one."""
    return marked.filter(pl.col(REASON).is_null()).select(list(LINES)).unique()


def last_years(distinct: pl.LazyFrame) -> pl.LazyFrame:
    """The lines of the last MOST_YEARS fiscal years of each company."""
    # The rank is 1 for the newest year of the company, 2 for the year before.
    year_rank = pl.col("exercice").rank("dense", descending=True).over("id")
    return distinct.filter(year_rank <= MOST_YEARS)


def fill_labels(lines: pl.LazyFrame, seeds: Seeds) -> pl.LazyFrame:
    """Fill missing labels from `seeds/postes.csv` by the code; a code that is not in the table is the label.

    The label of a line of group accounts ends with `(groupe)`.
    """
    labels = {row["code"]: row["libelle_fr"] for row in seeds.tables["postes"]}
    all_labels = labels | {
        f"{code}{GROUP_SUFFIX}": f"{label} (groupe)" for code, label in labels.items()
    }
    of_code = pl.col("code").replace_strict(
        all_labels, default=pl.col("code"), return_dtype=pl.String
    )
    return lines.with_columns(pl.coalesce("libelle", of_code).alias("libelle"))


def contradictions(lines: pl.LazyFrame) -> int:
    """The number of lines that differ from another line of `lines` only in value or currency, for the report."""
    line_key = ["id", "exercice", "etat", "code", "libelle", "ordre"]
    repeated = lines.group_by(line_key).len().filter(pl.col("len") > 1)
    return int(repeated.select(pl.col("len").sum()).collect(engine="streaming").item())


def facts(lines: pl.LazyFrame, seeds: Seeds) -> pl.LazyFrame:
    """One row per company in `lines`: its fiscal years, and for each role the columns `{role}_{part}` of its figure."""
    figures = _figures(lines, seeds)
    joined = _years(lines)
    for role in ROLES:
        joined = joined.join(_role_figures(figures, role), on="id", how="left")
    return joined


def fill_from_statements(companies: pl.LazyFrame, facts: pl.LazyFrame) -> pl.LazyFrame:
    """Fill years, turnover, headcount, total assets and capital from the result of `facts`; add PRESENT."""
    filled = (
        companies.join(facts, on="id", how="left")
        .with_columns(
            pl.col("n_exercices").is_not_null().alias(PRESENT),
            *(column for figure in _FIGURES for column in _fill_figure(figure)),
            _fill_staff(),
        )
        .drop(*(f"{role}_{part}" for role in ROLES for part in _FIGURE_PARTS))
    )
    return _fill_years(filled)


def _years(lines: pl.LazyFrame) -> pl.LazyFrame:
    """The number of fiscal years, the first and the last year of each company."""
    year = pl.col("exercice")
    return lines.group_by("id").agg(
        n_exercices=year.n_unique().cast(pl.Int64), exercice_min=year.min(), exercice_max=year.max()
    )


def _figures(lines: pl.LazyFrame, seeds: Seeds) -> pl.LazyFrame:
    """One line per company and role: of the newest year, the line whose code is first in `seeds/roles.csv`."""
    table = seeds.tables["roles"]
    roles = pl.LazyFrame(
        {
            "role": [row["role"] for row in table],
            "etat": [row["etat"] for row in table],
            "code": [row["code"] for row in table],
            "rank": range(len(table)),
        }
    )
    by_code = lines.join(roles, on=["etat", "code"], how="inner")
    # A negative capital is impossible (`implausible_values`).
    by_code = by_code.filter((pl.col("role") != "capital_social") | (pl.col("valeur") >= 0))
    is_group_line = pl.col("code").str.ends_with(GROUP_SUFFIX).fill_null(False)
    # A line that is recognised by its label ranks after all codes, so a line with a code is preferred.
    by_label = lines.filter(
        (pl.col("etat") == _ASSETS_STATEMENT)
        & ~is_group_line
        & _fold_label(pl.col("libelle")).is_in(TOTAL_ASSETS)
    ).with_columns(role=pl.lit("total_actif"), rank=pl.lit(len(table), dtype=pl.Int64))
    sort_columns = ["id", "role", "exercice", "rank", "ordre", "valeur", "devise", "libelle"]
    newest_first = [name == "exercice" for name in sort_columns]
    return (
        pl.concat([by_code, by_label], how="diagonal")
        .sort(sort_columns, descending=newest_first, nulls_last=True)
        .unique(["id", "role"], keep="first", maintain_order=True)
        .select("id", "role", *_FIGURE_PARTS)
    )


def _fold_label(label: pl.Expr) -> pl.Expr:
    """Fold a label as `shards.codec.folding.fold` does, for the letters of TOTAL_ASSETS."""
    bare = label.str.normalize("NFKD").str.replace_all(r"\p{M}", "").str.to_lowercase()
    return bare.str.replace_all(r"[^\p{L}\p{N}]+", " ").str.strip_chars()


def _role_figures(figures: pl.LazyFrame, role: str) -> pl.LazyFrame:
    """The figures of a role, with its name before the names of the columns."""
    of_role = figures.filter(pl.col("role") == role)
    return of_role.select("id", *(pl.col(part).alias(f"{role}_{part}") for part in _FIGURE_PARTS))


def _fill_figure(figure: _Figure) -> Iterator[pl.Expr]:
    """The columns of `figure`, filled from the statements where the columns of its `unless` are null.

    If it has a multiplier, this column follows: 1 for a filled amount, which is in units of its currency.
    """
    missing = pl.all_horizontal(pl.col(name).is_null() for name in figure.unless)
    is_filled = missing & pl.col(f"{figure.role}_valeur").is_not_null()
    for name, part in figure.columns.items():
        value = pl.col(f"{figure.role}_{part}")
        yield pl.when(is_filled).then(value).otherwise(pl.col(name)).alias(name)
    if figure.multiplier:
        multiplier = pl.when(is_filled).then(1).otherwise(pl.col(figure.multiplier))
        yield multiplier.alias(figure.multiplier)


def _fill_staff() -> pl.Expr:
    """Fill a missing headcount with the average full-time equivalents of the statements, rounded to persons."""
    employees = pl.col("effectif_valeur").round()
    persons = pl.when(employees.is_between(0, MOST_STAFF)).then(employees).cast(pl.Int64)
    return pl.coalesce("effectif", persons).alias("effectif")


def _fill_years(companies: pl.LazyFrame) -> pl.LazyFrame:
    """Fill the number of years and the first and last year of a company without statements.

    The years are those of its published turnover and total assets.
    """
    turnover_year, assets_year = pl.col("ca_year"), pl.col("exercice_actif")
    has_two_years = (turnover_year != assets_year).fill_null(False).cast(pl.Int64)
    years = pl.when(turnover_year.is_not_null() | assets_year.is_not_null()).then(1 + has_two_years)
    return companies.with_columns(
        pl.coalesce("n_exercices", years).alias("n_exercices"),
        pl.coalesce("exercice_min", pl.min_horizontal(turnover_year, assets_year)).alias(
            "exercice_min"
        ),
        pl.coalesce("exercice_max", pl.max_horizontal(turnover_year, assets_year)).alias(
            "exercice_max"
        ),
    )
