"""Personal data that no register meant to publish as a company's: birth dates, officers, personal mailboxes.

Some registers give a whole entry where an address is expected, with the managing directors and their birth dates.
`seeds/personnes.csv` has the patterns, by country and column. A text that one of them finds becomes null, because
nobody can tell what of it is sound; a company whose name is such a text is rejected. Every importer is held to this:
the stage sees the rows of all sources. What is found is a mistake of an importer, so much of it closes a gate of the
build (`quality_report`).

An e-mail address at a provider of `seeds/messageries.csv` is often a person's, and so is one that begins with a given
name of `seeds/prenoms.csv` and a dot: erna.muster@commune. It stays, as the register publishes it, unless the build
leaves such addresses out. Clauses with persons are cut before (`clauses`).
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from pipeline.canonical import COMPANIES, COMPTES, TEXT, TEXTS
from pipeline.seeds import Seeds, read_patterns

FOUND: Final = "personal_data"  # working column: bit i stands for a text in column i of COLUMNS
MAILBOX: Final = "personal_mailbox"  # working column: whether the e-mail address is such a person's
NAME_FAULT: Final = "nom avec une date de naissance ou un dirigeant"

_KEYS: Final = frozenset({"iso2", "id", "date_creation", "date_source", "etat", "code"})
COLUMNS: Final = tuple(
    name
    for name, dtype in {**COMPANIES, **COMPTES}.items()
    if dtype in (TEXT, TEXTS) and name not in _KEYS
)

Patterns = Mapping[str, str]  # the regular expression of a column


def patterns(seeds: Seeds, iso2: str) -> Patterns:
    """The patterns of a country, one regular expression for each column of COLUMNS that has any.

    Raises:
        SeedError: a row names an unknown column, or its pattern is no regular expression.
    """
    found = read_patterns("personnes", seeds.tables["personnes"], COLUMNS, iso2)
    return {name: "|".join(f"(?:{motif})" for motif in motifs) for name, motifs in found.items()}


def refuse(rows: pl.LazyFrame, regexes: Patterns) -> pl.LazyFrame:
    """Make every text that its pattern finds null; add FOUND."""
    schema = rows.collect_schema()
    texts = [name for name in regexes if schema.get(name) == TEXT]
    lists = [name for name in regexes if schema.get(name) == TEXTS]
    hits = {name: pl.col(name).str.contains(regexes[name]) for name in texts}
    sound: dict[str, pl.Expr] = {name: pl.when(~hit).then(name) for name, hit in hits.items()}
    for name in lists:
        held = pl.element().str.contains(regexes[name])
        hits[name] = pl.col(name).list.eval(held).list.any()
        left = pl.col(name).list.eval(pl.element().filter(~held))
        sound[name] = pl.when(~hits[name]).then(name).when(left.list.len() > 0).then(left)
    bits = [
        pl.when(hit).then(pl.lit(1 << COLUMNS.index(name), pl.Int64)).otherwise(0)
        for name, hit in hits.items()
    ]
    return rows.with_columns(pl.sum_horizontal(pl.lit(0, pl.Int64), *bits).alias(FOUND), **sound)


def has_name() -> pl.Expr:
    """Whether the name was such a text."""
    return pl.col(FOUND) & (1 << COLUMNS.index("nom")) != 0


def count(rows: pl.LazyFrame) -> dict[str, int]:
    """How many rows had such a text, by column."""
    held = {name: pl.col(FOUND) & (1 << bit) != 0 for bit, name in enumerate(COLUMNS)}
    sums = rows.select(**{name: hit.sum() for name, hit in held.items()})
    counts = sums.collect(engine="streaming").row(0, named=True)
    return {name: number for name, number in counts.items() if number}


def mark_mailboxes(companies: pl.LazyFrame, seeds: Seeds, *, leave_out: bool) -> pl.LazyFrame:
    """Add MAILBOX; make the addresses null where they are to be left out."""
    domains = [row["domaine"] for row in seeds.tables["messageries"]]
    names = [row["prenom"] for row in seeds.tables["prenoms"]]
    domain = pl.col("email").str.extract(r"@([^@]*)$").str.to_lowercase()
    first = pl.col("email").str.extract(r"^(\p{L}{3,})[._]\p{L}[\p{L}'-]+@").str.normalize("NFKD")
    given = first.str.replace_all(r"\p{M}", "").str.to_uppercase().is_in(names)
    personal = domain.is_in(domains).fill_null(False) | given.fill_null(False)
    marked = companies.with_columns(personal.alias(MAILBOX))
    if not leave_out:
        return marked
    return marked.with_columns(pl.when(~pl.col(MAILBOX)).then("email").alias("email"))
