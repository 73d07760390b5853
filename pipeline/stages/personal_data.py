"""Personal data that no register meant to publish as a company's: owners, addressees, birth dates, officers, mailboxes.

Clauses that name a person are cut, and the rest of the value stays. An owner's clause is what a pattern of the reason
OWNER in `seeds/personnes.csv` finds in a name, to the closing bracket or to the end: "Blumenhaus GmbH, Inhaberin: Erna
Muster" is Blumenhaus GmbH. A name that begins with such a clause says nothing else, and is rejected. A clause of an
address begins with a mark of `seeds/aux_soins_de.csv` (c/o) and ends at a comma, at a bracket, or before the number of
a street that is behind the number. It is cut if it has two words or more and no legal form: with one it names a firm. A
mark that is also an ordinary word (`ailleurs`: chez, hos) counts only where a street is elsewhere in the address. The
clause is lost with what cannot be told from it, such as a street that no comma parts from the name.

Some registers give a whole entry where an address is expected, with the managing directors and their birth dates.
`seeds/personnes.csv` has the patterns, by country and column. A text that one of them finds becomes null, because
nobody can tell what of it is sound; a company whose name is such a text is rejected. Every importer is held to this:
the stage sees the rows of all sources. What is found is a mistake of an importer, so much of it closes a gate of the
build (`quality_report`).

An e-mail address at a provider of `seeds/messageries.csv` is often a person's, and so is one that begins with a given
name of `seeds/prenoms.csv` and a dot: erna.muster@commune. It stays, as the register publishes it, unless the build
leaves such addresses out.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from pipeline.canonical import COMPANIES, COMPTES, TEXT, TEXTS
from pipeline.errors import SeedError
from pipeline.seeds import Seeds, read_patterns
from shards.codec.folding import fold
from shards.matching.legal_forms import LegalForms

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

OWNER: Final = "dirigeant ou titulaire"
ADDRESS: Final = ("adresse", "ville")
_BEFORE: Final = r"(?:^|[^\p{L}\p{N}])"  # every pattern of an owner begins with it
_SEPARATORS: Final = r"[\s,;:/|(\[–—-]*"
_REST: Final = r"[\p{L}\p{N}].*[\p{L}\p{N}]"  # of a name: two letters or digits at least
# A run of blanks is tried once, from its beginning: addresses of 32 000 blanks take no longer than others.
_PARTS: Final = re.compile(
    r"((?<!\s)\s*[,;|()\[\]\n][\s,;|()\[\]]*|(?<!\s)\s+[–—-]\s[\s,;|()\[\]]*)"
)
_WORD: Final = re.compile(r"[^\W\d_]")
_NUMBER: Final = re.compile(r"(?<![^\W_])\d")
_STREET_BEHIND: Final = re.compile(r"\d\S*[\s,]+.*[^\W\d_]{3}")
_STREET_WORD: Final = re.compile(
    r"(?i)(?<!\S)\S+(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse|gade|vej|gat[ae]n?|vägen|vei(?:en)?|katu|straat|laan)\b"
)
_LOOK_AHEAD: Final = re.compile(r"\(\?=[^)]*\)")
_ENDS: Final = " \t,;:|/-–—"
_EMPTY_BRACKETS: Final = re.compile(r"\(\s*\)|\[\s*\]")
_REPEATED_SEPARATORS: Final = re.compile(r"(?<!\s)\s*([,;|])(?:\s*[,;|])+\s*")
_NEEDLESS_BLANKS: Final = re.compile(r"\s+(?=[,;])|(?<=\s)\s+")


# -- clauses -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of a country.

    Attributes:
        owners: patterns of an owner, without the character before.
        marks: the beginning of a clause in an address.
        elsewhere: those that count only where a street is elsewhere.
        likely: the same for Polars, whose regular expressions cannot look ahead.
        forms: legal forms, which tell a firm from a person.
    """

    iso2: str
    owners: str
    marks: re.Pattern[str]
    elsewhere: re.Pattern[str]
    likely: str
    forms: LegalForms


def clauses_of_country(seeds: Seeds, iso2: str) -> Clauses:
    """The clauses of a country.

    Raises:
        SeedError: a pattern of an owner that begins otherwise, or a mark that is no regular expression.
    """
    owners = [
        row["motif"]
        for row in seeds.tables["personnes"]
        if row["raison"] == OWNER and row["iso2"] in ("", iso2)
    ]
    if strange := [motif for motif in owners if not motif.startswith(_BEFORE)]:
        raise SeedError(f"personnes.csv: {strange[0]!r} does not begin with {_BEFORE}; mend it")
    rows = [row for row in seeds.tables["aux_soins_de"] if row["iso2"] in ("", iso2)]
    everywhere = [row["marque"] for row in rows if not row["ailleurs"]]
    elsewhere = [row["marque"] for row in rows if row["ailleurs"]]
    return Clauses(
        iso2,
        "|".join(f"(?:{motif.removeprefix(_BEFORE)})" for motif in owners),
        _mark(everywhere),
        _mark(elsewhere),
        rf"(?i){_BEFORE}(?:{'|'.join(_LOOK_AHEAD.sub('', mark) for mark in (*everywhere, *elsewhere))})",
        LegalForms(seeds.tables["formes_juridiques"], seeds.tables["parties_de_formes"]),
    )


def cut_clauses(companies: pl.DataFrame, clauses: Clauses) -> tuple[pl.DataFrame, Counter[str]]:
    """Cut the clauses of names and addresses; return how many, by field."""
    counts: Counter[str] = Counter()
    changed = {"nom": _without_owners(companies["nom"], clauses.owners)} if clauses.owners else {}
    changed |= {name: _without_carers(companies[name], clauses) for name in ADDRESS}
    for name, texts in changed.items():
        if hits := int(texts.ne_missing(companies[name]).sum()):
            counts[name] = hits
            companies = companies.with_columns(texts.alias(name))
    return companies, counts


def _mark(marks: list[str]) -> re.Pattern[str]:
    """The pattern of a mark that stands apart from words; of no mark, one that matches nothing."""
    joined = "|".join(marks) or r"(?!)"
    try:
        return re.compile(rf"(?i)(?<![^\W_])(?:{joined})(?:(?<=[/.:'’℅\\\s])|(?![^\W_]))[\s:]*")
    except re.error as error:
        raise SeedError(
            f"aux_soins_de.csv: {joined!r} is no regular expression ({error}); mend it"
        ) from error


def _without_owners(names: pl.Series, owners: str) -> pl.Series:
    text = pl.col(names.name)
    bracketed = rf"\s*[(\[]\s*(?:{owners})[^)\]]*(?:[)\]]|$)"
    to_the_end = rf"(?:^|{_SEPARATORS}[^\p{{L}}\p{{N}}])(?:{owners}).*$"
    rest = text.str.replace_all(bracketed, "").str.replace(to_the_end, "")
    rest = rest.str.strip_chars(_ENDS)
    hit = text.str.contains(rf"{_BEFORE}(?:{owners})") & rest.str.contains(_REST)
    return names.to_frame().select(pl.when(hit).then(rest).otherwise(text)).to_series()


def _without_carers(texts: pl.Series, clauses: Clauses) -> pl.Series:
    """The addresses without their clauses; only those that may have a mark are looked at in Python."""
    likely = texts.str.contains(clauses.likely).fill_null(False).arg_true()
    if likely.is_empty():
        return texts
    cleaned = [without_carer(text, clauses) for text in texts.gather(likely)]
    return texts.scatter(likely, pl.Series(cleaned, dtype=pl.String))


def without_carer(text: str, clauses: Clauses) -> str | None:
    """An address without the clauses that name a person; None if nothing is left of it."""
    parts = _PARTS.split(text)
    for at in range(0, len(parts), 2):
        mark = clauses.marks.search(parts[at])
        strict = mark is None
        mark = mark or clauses.elsewhere.search(parts[at])
        if mark is None:
            continue
        before, clause = parts[at][: mark.start()], parts[at][mark.end() :]
        taken = [at]
        if not clause.strip() and at + 2 < len(parts):  # "z.Hd., Erna Muster"
            taken.append(at + 2)
        elif len(clause.split()) == 1 and at + 4 < len(parts) and _is_word(parts[at + 2]):
            taken.append(at + 2)  # "c/o Muster, Erna, Am Markt 1"
        clause = " ".join([clause, *(parts[place] for place in taken[1:])])
        clause, street = _part_street(clause)
        others = [
            before,
            street,
            *(part for n, part in enumerate(parts[::2]) if 2 * n not in taken),
        ]
        if not _names_person(clause, clauses) or (strict and not any(map(_is_street, others))):
            continue
        for place in taken:
            parts[place] = ""
        parts[at] = ", ".join(part for part in (before.strip(_ENDS), street) if part)
    left = "".join(parts)
    if left == text:
        return text
    return _tidied(left) or None


def _part_street(clause: str) -> tuple[str, str]:
    """A clause, and the street that follows it without a comma."""
    if word := _STREET_WORD.search(clause):
        return clause[: word.start()], clause[word.start() :]
    if number := _NUMBER.search(clause):
        behind = clause[number.start() :]
        return clause[: number.start()], behind if _STREET_BEHIND.match(behind) else ""
    return clause, ""


def _names_person(clause: str, clauses: Clauses) -> bool:
    """Whether a clause has two words or more, and no legal form."""
    words = tuple(fold(clause).split())
    if sum(bool(_WORD.search(word)) for word in clause.split()) < 2:
        return False
    forms, iso2 = clauses.forms, clauses.iso2
    # A street may follow the form of a firm without a comma.
    firms = (forms.without_forms(words[:end], iso2)[1] for end in range(2, len(words) + 1))
    return not any(firms) and not forms.without_forms(words, "")[1]


def _is_word(text: str) -> bool:
    return len(text.split()) == 1 and text.strip().isalpha()


def _is_street(text: str) -> bool:
    return bool(_WORD.search(text) and re.search(r"\d", text) and len(text.split()) > 1)


def _tidied(text: str) -> str:
    """An address without empty brackets, and with one separator where the clause was."""
    bare = _EMPTY_BRACKETS.sub(" ", text)
    bare = _REPEATED_SEPARATORS.sub(r"\1 ", bare)
    bare = _NEEDLESS_BLANKS.sub("", bare).strip(_ENDS)
    return bare if re.search(r"[^\W_]", bare) else ""


# -- texts and mailboxes -------------------------------------------------------------


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
