"""Statement lines: the selection of lines, and the fields of a company filled from them.

A line that cannot be read, or whose company is not in the input, is left out and counted. Exact
copies count once. A line without a label gets one from its code. The five last fiscal years of a
company are kept (contract E5).

The kept lines give a company its years and, where the register gave none, turnover, headcount,
total assets and capital: from the newest year that states the figure, by the codes of
`seeds/roles.csv` in their order; total assets also by label. Group accounts fill none of them:
a company is not its group.

Invariant: an amount is filled together with its year, currency and multiplier, or not at all. So a
record never has the figure of one source and the year of another.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import polars as pl

from pipeline.canonical import GROUP
from pipeline.seeds import Seeds
from pipeline.stages.implausible_values import EARLIEST, HUGE, MOST_MONEY, MOST_STAFF, NO_CURRENCY
from pipeline.stages.rejections import REASON
from shards.codec.record import ETATS

MOST_YEARS: Final = 5
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
NO_COMPANY: Final = "société absente"
COPY: Final = "copie"
TOO_OLD: Final = "exercice ancien"
_PARTS: Final = ("valeur", "exercice", "devise")
PRESENT: Final = "has_lines"  # working column: whether the company has statement lines
LINES: Final = ("id", "exercice", "etat", "code", "libelle", "valeur", "devise", "ordre")
_LAST_PLACE: Final = 2**31 - 1
_ASSETS: Final = "bilan_actif"  # the only statement in which such a label means total assets


class _Figure(NamedTuple):
    """An amount that statements fill: its role, and columns with the parts of a line that they get.

    Attributes:
        unless: the columns that are all null where the amount is filled.
        multiplier: the column that becomes 1 with it.
    """

    role: str
    unless: tuple[str, ...]
    columns: Mapping[str, str]
    multiplier: str | None = None


_FIGURES: Final = (
    _Figure(
        "chiffre_affaires",
        # A given ca_eur has its own year and currency, which the statements would contradict.
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
    """Reason -> condition, of lines of fiscal years up to `last_year`."""
    year, amount = pl.col("exercice"), pl.col("valeur")
    return {
        "état inconnu": ~pl.col("etat").is_in(ETATS).fill_null(False),
        "exercice absent ou invraisemblable": ~year.is_between(EARLIEST, last_year).fill_null(
            False
        ),
        "code et libellé absents": pl.col("code").is_null() & pl.col("libelle").is_null(),
        "valeur absente ou non finie": ~amount.is_finite().fill_null(False),
        HUGE: amount.abs() > MOST_MONEY,
        NO_CURRENCY: ~pl.col("devise").str.contains(r"^[A-Z]{3}$").fill_null(True),
    }


def add_reasons(comptes: pl.LazyFrame, companies: pl.LazyFrame, last_year: int) -> pl.LazyFrame:
    """Add `motif`: the reason to leave a line out; null for a good line of one of `companies`.

    A position that is none (negative, or over 32 bits) is null: it only sorts the lines.
    """
    known = companies.select("id", known=pl.lit(True))
    absent = pl.when(pl.col("known").is_null()).then(pl.lit(NO_COMPANY))
    reasons = [pl.when(fault).then(pl.lit(name)) for name, fault in faults(last_year).items()]
    place = pl.col("ordre")
    joined = comptes.join(known, on="id", how="left")
    return joined.with_columns(
        pl.coalesce(absent, *reasons).alias(REASON),
        pl.when(place.is_between(0, _LAST_PLACE)).then(place).alias("ordre"),
    ).drop("known")


def drop_copies(marked: pl.LazyFrame) -> pl.LazyFrame:
    """The good lines, without exact copies."""
    return marked.filter(pl.col(REASON).is_null()).select(list(LINES)).unique()


def last_years(distinct: pl.LazyFrame) -> pl.LazyFrame:
    """The lines of the MOST_YEARS last fiscal years of each company."""
    age = pl.col("exercice").rank("dense", descending=True).over("id")
    return distinct.filter(age <= MOST_YEARS)


def fill_labels(lines: pl.LazyFrame, seeds: Seeds) -> pl.LazyFrame:
    """Name the lines without a label as `seeds/postes.csv` names their code, else by the code."""
    known = {row["code"]: row["libelle_fr"] for row in seeds.tables["postes"]}
    named = known | {f"{code}{GROUP}": f"{label} (groupe)" for code, label in known.items()}
    of_code = pl.col("code").replace_strict(named, default=pl.col("code"), return_dtype=pl.String)
    return lines.with_columns(pl.coalesce("libelle", of_code).alias("libelle"))


def contradictions(lines: pl.LazyFrame) -> int:
    """Count the lines that differ from another only in value or currency."""
    key = ["id", "exercice", "etat", "code", "libelle", "ordre"]
    alike = lines.group_by(key).len().filter(pl.col("len") > 1)
    return int(alike.select(pl.col("len").sum()).collect(engine="streaming").item())


def facts(lines: pl.LazyFrame, seeds: Seeds) -> pl.LazyFrame:
    """One row per company with `lines`: its years, and one figure per role."""
    figures = _figures(lines, seeds)
    joined = _years(lines)
    for role in ROLES:
        joined = joined.join(_of_role(figures, role), on="id", how="left")
    return joined


def fill_from_statements(companies: pl.LazyFrame, facts: pl.LazyFrame) -> pl.LazyFrame:
    """Fill years, turnover, headcount, total assets and capital from the `facts`."""
    filled = (
        companies.join(facts, on="id", how="left")
        .with_columns(
            pl.col("n_exercices").is_not_null().alias(PRESENT),
            *(column for figure in _FIGURES for column in _fill(figure)),
            _fill_staff(),
        )
        .drop(*(f"{role}_{part}" for role in ROLES for part in _PARTS))
    )
    return _years_of_figures(filled)


def _years(lines: pl.LazyFrame) -> pl.LazyFrame:
    year = pl.col("exercice")
    return lines.group_by("id").agg(
        n_exercices=year.n_unique().cast(pl.Int64), exercice_min=year.min(), exercice_max=year.max()
    )


def _figures(lines: pl.LazyFrame, seeds: Seeds) -> pl.LazyFrame:
    """One line per company and role: of the newest year, then of the first code."""
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
    by_code = by_code.filter((pl.col("role") != "capital_social") | (pl.col("valeur") >= 0))
    of_group = pl.col("code").str.ends_with(GROUP).fill_null(False)
    by_label = lines.filter(
        (pl.col("etat") == _ASSETS) & ~of_group & _fold(pl.col("libelle")).is_in(TOTAL_ASSETS)
    ).with_columns(role=pl.lit("total_actif"), rank=pl.lit(len(table), dtype=pl.Int64))
    order = ["id", "role", "exercice", "rank", "ordre", "valeur", "devise", "libelle"]
    newest_first = [name == "exercice" for name in order]
    return (
        pl.concat([by_code, by_label], how="diagonal")
        .sort(order, descending=newest_first, nulls_last=True)
        .unique(["id", "role"], keep="first", maintain_order=True)
        .select("id", "role", *_PARTS)
    )


def _fold(label: pl.Expr) -> pl.Expr:
    """Fold a label as `shards.codec.folding.fold` does, for the letters of TOTAL_ASSETS."""
    bare = label.str.normalize("NFKD").str.replace_all(r"\p{M}", "").str.to_lowercase()
    return bare.str.replace_all(r"[^\p{L}\p{N}]+", " ").str.strip_chars()


def _of_role(figures: pl.LazyFrame, role: str) -> pl.LazyFrame:
    of_role = figures.filter(pl.col("role") == role)
    return of_role.select("id", *(pl.col(part).alias(f"{role}_{part}") for part in _PARTS))


def _fill(figure: _Figure) -> Iterator[pl.Expr]:
    missing = pl.all_horizontal(pl.col(name).is_null() for name in figure.unless)
    stated = missing & pl.col(f"{figure.role}_valeur").is_not_null()
    for name, part in figure.columns.items():
        value = pl.col(f"{figure.role}_{part}")
        yield pl.when(stated).then(value).otherwise(pl.col(name)).alias(name)
    if figure.multiplier:
        one = pl.when(stated).then(1).otherwise(pl.col(figure.multiplier))
        yield one.alias(figure.multiplier)


def _fill_staff() -> pl.Expr:
    """Round the mean number of full-time equivalents to a number of persons."""
    stated = pl.col("effectif_valeur").round()
    persons = pl.when(stated.is_between(0, MOST_STAFF)).then(stated).cast(pl.Int64)
    return pl.coalesce("effectif", persons).alias("effectif")


def _years_of_figures(companies: pl.LazyFrame) -> pl.LazyFrame:
    """Take the years of the given figures for a company without statements."""
    first, second = pl.col("ca_year"), pl.col("exercice_actif")
    apart = (first != second).fill_null(False).cast(pl.Int64)
    given = pl.when(first.is_not_null() | second.is_not_null()).then(1 + apart)
    return companies.with_columns(
        pl.coalesce("n_exercices", given).alias("n_exercices"),
        pl.coalesce("exercice_min", pl.min_horizontal(first, second)).alias("exercice_min"),
        pl.coalesce("exercice_max", pl.max_horizontal(first, second)).alias("exercice_max"),
    )
