"""Personal data in the fields of companies: owners, addressees, birth dates, officers, mailboxes.

A clause that names a person is cut out of a value, and the rest of the value stays. There are two kinds:

- The owner in a name of a company, recognised by the patterns with the reason OWNER in `seeds/personnes.csv`. The
  clause ends at the closing bracket or at the end of the name: "Blumenhaus GmbH, Inhaberin: Erna Muster" becomes
  Blumenhaus GmbH. A name that begins with such a clause contains nothing else, and its company is rejected.
- The addressee in an address. The clause begins with a mark of `seeds/aux_soins_de.csv` (c/o), and ends at a comma, at
  a bracket, or before a street, which can begin with its number. A clause is cut if it has two words or more and no
  legal form, since a legal form means a company. A mark that is also an ordinary word (`ailleurs`: chez, hos) counts
  only if another part of the address is a street. Text that cannot be separated from the clause, such as some streets
  without a comma before them, is cut with the clause.

Some registers publish a whole entry as an address, with the managing directors and their birth dates.
`seeds/personnes.csv` has the patterns, by country and column. A text that matches becomes null, because its harmless
parts are unknown; a company whose name matches is rejected. This stage receives the rows of all sources, so it checks
every importer. A match is a mistake of an importer, so too many matches close a gate of the build (`quality_report`).

An e-mail address at a provider of `seeds/messageries.csv` often belongs to a person. So does an address that begins
with a given name of `seeds/prenoms.csv` and a dot: erna.muster@commune. Such addresses stay, as the register
publishes them, unless the build has the option `--no-personal-mailboxes`.
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

# Working column: bit i is set if a text in column i of COLUMNS matched.
MATCHED_COLUMNS: Final = "personal_data"
MAILBOX: Final = "personal_mailbox"  # working column: whether the e-mail address looks personal
NAME_FAULT: Final = "nom avec une date de naissance ou un dirigeant"

# Columns that are not searched: keys, dates and codes.
_KEYS: Final = frozenset({"iso2", "id", "date_creation", "date_source", "etat", "code"})
# The columns of companies and of statement lines that are searched.
COLUMNS: Final = tuple(
    name
    for name, dtype in {**COMPANIES, **COMPTES}.items()
    if dtype in (TEXT, TEXTS) and name not in _KEYS
)

PatternsByColumn = Mapping[str, str]  # the regular expression of a column

# The reason (`raison`) of the patterns of owners in `seeds/personnes.csv`.
OWNER: Final = "dirigeant ou titulaire"
ADDRESS: Final = ("adresse", "ville")  # columns in which clauses of addressees are cut
# The beginning of every pattern of an owner: it does not match within a word.
_OWNER_START: Final = r"(?:^|[^\p{L}\p{N}])"
_SEPARATORS: Final = r"[\s,;:/|(\[–—-]*"
# A name is cut only if this much is left: two letters or digits.
_ENOUGH_NAME: Final = r"[\p{L}\p{N}].*[\p{L}\p{N}]"
# The separators of the parts of an address: commas, semicolons, bars, brackets, line ends, dashes between blanks. The
# look-behinds let a match begin only at the first of several blanks, so that 32 000 blanks take no quadratic time.
_PART_SEPARATOR: Final = re.compile(
    r"((?<!\s)\s*[,;|()\[\]\n][\s,;|()\[\]]*|(?<!\s)\s+[–—-]\s[\s,;|()\[\]]*)"
)
# A letter; the first digit of a number; a number and a later word of three letters or more, as in a street.
_LETTER: Final = re.compile(r"[^\W\d_]")
_FIRST_DIGIT: Final = re.compile(r"(?<![^\W_])\d")
_NUMBER_AND_STREET: Final = re.compile(r"\d\S*[\s,]+.*[^\W\d_]{3}")
# A word that ends like a street: Hauptstraße, Storgata.
_STREET_WORD: Final = re.compile(
    r"(?i)(?<!\S)\S+(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse|gade|vej|gat[ae]n?|vägen|vei(?:en)?|katu|straat|laan)\b"
)
# A look-ahead in a pattern, which is removed for Polars.
_LOOK_AHEAD: Final = re.compile(r"\(\?=[^)]*\)")
# Signs that are removed from the ends of a name or an address after a cut.
_TRIMMED_SIGNS: Final = " \t,;:|/-–—"
_EMPTY_BRACKETS: Final = re.compile(r"\(\s*\)|\[\s*\]")
_REPEATED_SEPARATORS: Final = re.compile(r"(?<!\s)\s*([,;|])(?:\s*[,;|])+\s*")
_NEEDLESS_BLANKS: Final = re.compile(r"\s+(?=[,;])|(?<=\s)\s+")


# -- clauses -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clauses:
    """The patterns that recognise clauses in the names and addresses of a country.

    Attributes:
        owners: the pattern of an owner in a name, without _OWNER_START.
        marks: the pattern of the marks that begin a clause in an address.
        elsewhere: the pattern of the marks that count only if another part of the address is a street.
        likely: a pattern for Polars of addresses that can contain a mark; it matches too much, because the regular
            expressions of Polars cannot look ahead.
        forms: legal forms, which distinguish companies from persons.
    """

    iso2: str
    owners: str
    marks: re.Pattern[str]
    elsewhere: re.Pattern[str]
    likely: str
    forms: LegalForms


def clauses_of_country(seeds: Seeds, iso2: str) -> Clauses:
    """The patterns of the clauses of a country, from the rows of the country and of all countries.

    Raises:
        SeedError: the pattern of an owner does not begin with _OWNER_START, or a mark is not a regular expression.
    """
    owners = [
        row["motif"]
        for row in seeds.tables["personnes"]
        if row["raison"] == OWNER and row["iso2"] in ("", iso2)
    ]
    if strange := [motif for motif in owners if not motif.startswith(_OWNER_START)]:
        raise SeedError(
            f"personnes.csv: {strange[0]!r} does not begin with {_OWNER_START}; mend it"
        )
    rows = [row for row in seeds.tables["aux_soins_de"] if row["iso2"] in ("", iso2)]
    marks = [row["marque"] for row in rows if not row["ailleurs"]]
    elsewhere = [row["marque"] for row in rows if row["ailleurs"]]  # also ordinary words
    any_mark = "|".join(_LOOK_AHEAD.sub("", mark) for mark in (*marks, *elsewhere))
    return Clauses(
        iso2,
        owners="|".join(f"(?:{motif.removeprefix(_OWNER_START)})" for motif in owners),
        marks=_marks_pattern(marks),
        elsewhere=_marks_pattern(elsewhere),
        likely=f"(?i){_OWNER_START}(?:{any_mark})",
        forms=LegalForms(seeds.tables["formes_juridiques"], seeds.tables["parties_de_formes"]),
    )


def cut_clauses(companies: pl.DataFrame, clauses: Clauses) -> tuple[pl.DataFrame, Counter[str]]:
    """Cut the clauses out of names and addresses; return the companies and the number of changed values by field."""
    counts: Counter[str] = Counter()
    changed = {"nom": _cut_owners(companies["nom"], clauses.owners)} if clauses.owners else {}
    changed |= {name: _clean_addresses(companies[name], clauses) for name in ADDRESS}
    for name, texts in changed.items():
        if changed_count := int(texts.ne_missing(companies[name]).sum()):
            counts[name] = changed_count
            companies = companies.with_columns(texts.alias(name))
    return companies, counts


def _marks_pattern(marks: list[str]) -> re.Pattern[str]:
    """The pattern of any of `marks`, not within a word; without marks, a pattern that matches nothing."""
    joined = "|".join(marks) or r"(?!)"
    # A mark ends with a separator, or before a character that is not a letter or digit; blanks and colons can follow.
    try:
        return re.compile(rf"(?i)(?<![^\W_])(?:{joined})(?:(?<=[/.:'’℅\\\s])|(?![^\W_]))[\s:]*")
    except re.error as error:
        raise SeedError(
            f"aux_soins_de.csv: {joined!r} is not a regular expression ({error}); mend it"
        ) from error


def _cut_owners(names: pl.Series, owners: str) -> pl.Series:
    """The names without the clauses of owners; a name that would be empty stays, and is rejected later."""
    text = pl.col(names.name)
    # Clauses in brackets are cut first, then a clause from its beginning to the end of the name.
    bracketed = rf"\s*[(\[]\s*(?:{owners})[^)\]]*(?:[)\]]|$)"
    to_the_end = rf"(?:^|{_SEPARATORS}[^\p{{L}}\p{{N}}])(?:{owners}).*$"
    shortened = text.str.replace_all(bracketed, "").str.replace(to_the_end, "")
    shortened = shortened.str.strip_chars(_TRIMMED_SIGNS)
    is_cut = text.str.contains(rf"{_OWNER_START}(?:{owners})") & shortened.str.contains(
        _ENOUGH_NAME
    )
    return names.to_frame().select(pl.when(is_cut).then(shortened).otherwise(text)).to_series()


def _clean_addresses(texts: pl.Series, clauses: Clauses) -> pl.Series:
    """The addresses without their clauses; only addresses that match `likely` are processed one by one in Python."""
    likely = texts.str.contains(clauses.likely).fill_null(False).arg_true()
    if likely.is_empty():
        return texts
    cleaned = [remove_address_clauses(text, clauses) for text in texts.gather(likely)]
    return texts.scatter(likely, pl.Series(cleaned, dtype=pl.String))


def remove_address_clauses(text: str, clauses: Clauses) -> str | None:
    """An address without the clauses that name a person (`c/o Erna Muster`); None if it contains nothing else."""
    # The parts are at even indexes, the separators between them at odd indexes.
    parts = _PART_SEPARATOR.split(text)
    for index in range(0, len(parts), 2):
        mark = clauses.marks.search(parts[index])
        # An ordinary word, such as chez, is a mark only if another part of the address is a street.
        needs_street = mark is None
        mark = mark or clauses.elsewhere.search(parts[index])
        if mark is None:
            continue
        before, clause = parts[index][: mark.start()], parts[index][mark.end() :]
        # The clause extends into the next part if nothing follows the mark, or one word and then another word alone. In
        # the second case a part must remain for the street.
        cut_indexes = [index]
        if not clause.strip() and index + 2 < len(parts):  # "z.Hd., Erna Muster"
            cut_indexes.append(index + 2)
        elif len(clause.split()) == 1 and index + 4 < len(parts) and _is_word(parts[index + 2]):
            cut_indexes.append(index + 2)  # "c/o Muster, Erna, Am Markt 1"
        clause = " ".join([clause, *(parts[cut_index] for cut_index in cut_indexes[1:])])
        clause, street = _split_street(clause)
        # The parts that the address keeps if the clause is cut.
        other_parts = [
            before,
            street,
            *(part for number, part in enumerate(parts[::2]) if 2 * number not in cut_indexes),
        ]
        if not _names_person(clause, clauses) or (
            needs_street and not any(map(_is_street, other_parts))
        ):
            continue  # the clause names no person, or its mark is an ordinary word here
        for cut_index in cut_indexes:
            parts[cut_index] = ""
        parts[index] = ", ".join(part for part in (before.strip(_TRIMMED_SIGNS), street) if part)
    address = "".join(parts)
    if address == text:
        return text
    return _tidy_address(address) or None


def _split_street(clause: str) -> tuple[str, str]:
    """The part of a clause before a street that follows without a comma, and the street or an empty text.

    Text from a number on that is not a street is in neither result: it is cut from the address with the clause.
    """
    if word := _STREET_WORD.search(clause):
        return clause[: word.start()], clause[word.start() :]
    if number := _FIRST_DIGIT.search(clause):
        street = clause[number.start() :]
        return clause[: number.start()], street if _NUMBER_AND_STREET.match(street) else ""
    return clause, ""


def _names_person(clause: str, clauses: Clauses) -> bool:
    """Whether a clause of an address can name a person: it has two words or more, and no legal form of a company."""
    words = tuple(fold(clause).split())
    if sum(bool(_LETTER.search(word)) for word in clause.split()) < 2:
        return False
    forms, iso2 = clauses.forms, clauses.iso2
    # A street can follow the legal form without a comma, so every beginning of the clause is tried as a name. The last
    # test is for the legal forms of all countries.
    forms_found = (forms.split_forms(words[:end], iso2)[1] for end in range(2, len(words) + 1))
    return not any(forms_found) and not forms.split_forms(words, "")[1]


def _is_word(text: str) -> bool:
    """Whether a text is a single word of letters."""
    return len(text.split()) == 1 and text.strip().isalpha()


def _is_street(text: str) -> bool:
    """Whether a text looks like a street with a number: two words or more, a letter and a digit."""
    return bool(_LETTER.search(text) and re.search(r"\d", text) and len(text.split()) > 1)


def _tidy_address(text: str) -> str:
    """Remove empty brackets, repeated separators and needless blanks from an address after a cut."""
    tidied = _EMPTY_BRACKETS.sub(" ", text)
    tidied = _REPEATED_SEPARATORS.sub(r"\1 ", tidied)
    tidied = _NEEDLESS_BLANKS.sub("", tidied).strip(_TRIMMED_SIGNS)
    return tidied if re.search(r"[^\W_]", tidied) else ""


# -- texts and mailboxes -------------------------------------------------------------


def patterns(seeds: Seeds, iso2: str) -> PatternsByColumn:
    """The patterns of a country: one regular expression for each column of COLUMNS with patterns.

    Raises:
        SeedError: a row names an unknown column, or its pattern is not a regular expression.
    """
    by_column = read_patterns("personnes", seeds.tables["personnes"], COLUMNS, iso2)
    return {
        name: "|".join(f"(?:{motif})" for motif in motifs) for name, motifs in by_column.items()
    }


def clear_personal_texts(rows: pl.LazyFrame, regexes: PatternsByColumn) -> pl.LazyFrame:
    """Replace every text that matches its pattern with null; add MATCHED_COLUMNS.

    In a list, only the texts that match are removed.
    """
    schema = rows.collect_schema()
    texts = [name for name in regexes if schema.get(name) == TEXT]
    lists = [name for name in regexes if schema.get(name) == TEXTS]
    hits = {name: pl.col(name).str.contains(regexes[name]) for name in texts}
    replacements: dict[str, pl.Expr] = {
        name: pl.when(~hit).then(name) for name, hit in hits.items()
    }
    for name in lists:
        matches = pl.element().str.contains(regexes[name])
        hits[name] = pl.col(name).list.eval(matches).list.any()
        harmless_texts = pl.col(name).list.eval(pl.element().filter(~matches))
        replacements[name] = (
            pl.when(~hits[name]).then(name).when(harmless_texts.list.len() > 0).then(harmless_texts)
        )
    # MATCHED_COLUMNS has one bit for each column of COLUMNS; the bits of columns that matched are 1.
    bits = [
        pl.when(hit).then(pl.lit(1 << COLUMNS.index(name), pl.Int64)).otherwise(0)
        for name, hit in hits.items()
    ]
    return rows.with_columns(
        pl.sum_horizontal(pl.lit(0, pl.Int64), *bits).alias(MATCHED_COLUMNS), **replacements
    )


def has_personal_name() -> pl.Expr:
    """Whether the name of the company contains personal data: it matched its pattern (MATCHED_COLUMNS)."""
    return pl.col(MATCHED_COLUMNS) & (1 << COLUMNS.index("nom")) != 0


def count(rows: pl.LazyFrame) -> dict[str, int]:
    """The number of rows with a match, by column."""
    matches = {name: pl.col(MATCHED_COLUMNS) & (1 << bit) != 0 for bit, name in enumerate(COLUMNS)}
    sums = rows.select(**{name: hit.sum() for name, hit in matches.items()})
    counts = sums.collect(engine="streaming").row(0, named=True)
    return {name: number for name, number in counts.items() if number}


def mark_mailboxes(companies: pl.LazyFrame, seeds: Seeds, *, leave_out: bool) -> pl.LazyFrame:
    """Add MAILBOX: whether the e-mail address looks like that of a person; with `leave_out`, it becomes null then."""
    domains = [row["domaine"] for row in seeds.tables["messageries"]]
    names = [row["prenom"] for row in seeds.tables["prenoms"]]
    domain = pl.col("email").str.extract(r"@([^@]*)$").str.to_lowercase()
    # The given name of erna.muster@commune, without accents and in capitals, as in the table.
    first_word = (
        pl.col("email").str.extract(r"^(\p{L}{3,})[._]\p{L}[\p{L}'-]+@").str.normalize("NFKD")
    )
    is_given_name = first_word.str.replace_all(r"\p{M}", "").str.to_uppercase().is_in(names)
    personal = domain.is_in(domains).fill_null(False) | is_given_name.fill_null(False)
    marked = companies.with_columns(personal.alias(MAILBOX))
    if not leave_out:
        return marked
    return marked.with_columns(pl.when(~pl.col(MAILBOX)).then("email").alias("email"))
