"""The declarations of parameters, for parsers and documents.

The parameters of several features are here; a feature declares its own parameters next to the function that reads them.

`serve/request/reader.py` and `serve/request/values.py` read names, kinds, enums, limits and defaults here;
/openapi.json and the tools read descriptions and JSON Schemas. So a limit is the same in the code and in documents.

A schema is stricter than the server, which also accepts (contract B): blanks around a value, an empty value for an
absent parameter, codes and slugs in any case, a `limit` above its maximum.

`words` lists the countries and sectors for these schemas. They come from the tables in `seeds/` that the build copies
into every generation, so the documents are complete before a generation is published. Requests are checked against
the words of the generation (serve/request/place_names.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from serve.contract import files, seed_tables
from serve.contract.seed_tables import fill_prices
from serve.contract.text import TABLES, Text, feature_texts, read_rows
from shards.codec.folding import SPELLINGS, fold
from shards.codec.record import FIELDS
from shards.query import DEEPEST, ORDERS, STATES

DEFAULT_LIMIT: Final = 50  # companies of a result page (§4.4)
LONGEST_Q: Final = 120  # code points (§8.2 rule 7, contract B13)
LONGEST_ID: Final = 64  # code points (contract E1)
MOST_IDS: Final = 1_000  # companies of `ids` (extensions X2)
MOST_VALUES: Final = 200  # items of each other list of extensions X2
# Limits of the matching of lists, which texts of documents name too (extensions X5).
MOST_LINES: Final = 1_000  # lines of a request
LINES_PER_CALL: Final = 10  # lines that cost one call; the last call may have fewer
VISITOR_LINES: Final = 2  # lines of a request without a key that are answered
MOST_CANDIDATES: Final = 10  # companies proposed for a line
DEFAULT_CANDIDATES: Final = 3
LONGEST_VALUE: Final = 300  # characters of a value of a line

# The kind of a value selects its reader (serve/request/values.py). Parameters of a kind differ only in their data.
ParameterKind = Literal[
    "text",
    "code",  # a text that matches a pattern
    "choice",  # one of an enum
    "flag",
    "integer",
    "number",
    "first day",  # of a year, a month or a day
    "last day",
    "choices",  # some of an enum
    "texts",
    "postcodes",
    "companies",
    "columns",
    "forms",
    "activities",  # codes of NACE
    "activity words",
    "place",  # countries, sectors and sub-sectors, read together
    "object",
]
# The kinds of texts of a parameter. The keys are the prefixes of two columns in tables/parameters.csv (`label_fr`,
# `label_en`); the values are the parts in `texts.csv` of a feature.
_PARTS: Final = {
    "": "description", "label_": "label", "heading_": "heading", "chip_": "chip", "needed_": "needed",
}  # fmt: skip
# The kinds that are types in JSON; values of other kinds are strings.
_JSON_TYPES: Final = ("integer", "number", "object")

# The valid words of the parameters `pays` and `secteur`, by the name of the parameter.
SeedWords = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter, or a variable part of a path. Parameters are compared by identity.

    Attributes:
        words: the list of `words` that its values are from; "" if there is none.
        separator: the separator of the items of a list; "" for a single value.
        most: the most items of a list.
        column: the field of a query (shards/query.py) or of a call that the parameter sets, if it has another name.
        bound: the bound that the parameter sets on its column (`shards.query.Range`); "" if it is not a bound.
        unit: the unit of a number.
        media: the media type of a text, if it is not plain text.
        beside: a form shows this flag next to the bounds of this column.
        required: the route refuses a request without it.
        from_answer: a valid value comes from an earlier answer, so `example` only shows the form of a value.
        text: the name of its texts in tables/parameters.csv, or in `texts.csv` of its feature, if that is not `name`.
    """

    name: str
    example: str | int | float
    kind: ParameterKind = "text"
    default: str | int | None = None
    enum: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    longest: int | None = None  # code points
    pattern: str = ""
    words: Literal["", "pays", "secteur"] = ""
    separator: str = ""
    most: int | None = None
    column: str = ""
    bound: Literal["", "least", "most"] = ""
    unit: Literal["", "EUR"] = ""
    beside: str = ""
    media: str = ""
    required: bool = False
    from_answer: bool = False
    text: str = ""

    @property
    def description(self) -> Text:
        """The description of the parameter in documents."""
        return self._text("")

    @property
    def examples(self) -> dict[str, list[str | int | float]]:
        """The key `examples` for a schema; empty if valid values come only from answers."""
        return {} if self.from_answer else {"examples": [self.example]}

    @property
    def label(self) -> Text:
        """The name of the parameter's field in a form."""
        return self._text("label_")

    @property
    def heading(self) -> Text:
        """The name of the restricted quantity without its unit, above fields of a form and in the sheet *Périmètre*."""
        heading = self._text("heading_")
        return heading if heading.fr else self.label

    @property
    def chip(self) -> Text:
        """The filter in a few words, with `{}` for the value."""
        return self._text("chip_")

    @property
    def value_to_send(self) -> Text:
        """The values to send for a required parameter, in words, for the error if it is missing."""
        return self._text("needed_")

    @property
    def component(self) -> str:
        """The name of the parameter among the components of /openapi.json, and of its row of texts."""
        return self.text or self.name

    def _text(self, prefix: str) -> Text:
        """A text of the parameter, by the prefix of two columns in tables/parameters.csv: `label_` for the label."""
        if row := texts().get(self.component):
            text = Text(row[f"{prefix}fr"], row[f"{prefix}en"])
        else:  # a parameter of one feature, which has few of these texts
            text = feature_texts().get((self.component, _PARTS[prefix]), Text("", ""))
        return Text(fill_prices(text.fr), fill_prices(text.en))

    def schema(self, words: SeedWords) -> dict[str, Any]:
        """The JSON Schema (2020-12) without a description; `words` is the result of the function `words`."""
        pattern = self.pattern
        enum: Sequence[str] = self.enum
        if self.words and self.separator:
            pattern = list_pattern(words[self.words], self.separator)
        elif self.words:
            enum = words[self.words]
        elif self.separator and enum:
            pattern, enum = list_pattern(enum, self.separator), ()
        limits = {
            "type": self.kind if self.kind in _JSON_TYPES else "string",
            "enum": list(enum),
            "minLength": 1 if self.pattern else None,
            "maxLength": self.longest,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "pattern": pattern,
            "default": self.default,
            "contentMediaType": self.media,
        }
        return {name: limit for name, limit in limits.items() if limit not in (None, "", [])}


@cache
def texts() -> Mapping[str, Mapping[str, str]]:
    """The rows of tables/parameters.csv: descriptions, labels, chips, and names in other APIs (`aliases`)."""
    return {row["name"]: row for row in read_rows(TABLES / "parameters.csv")}


def list_pattern(words: Sequence[str], separator: str) -> str:
    """A regular expression (ECMA-262 and Python) for lists of `words`; each word is in it once.

    It accepts the empty list: "empty means all" (§4.4).

    >>> list_pattern(["FR", "UK"], ",")
    '^(?:(?:FR|UK)(?:,|$))*$'
    """
    item = "|".join(_literal(word) for word in words)
    return f"^(?:(?:{item})(?:{_literal(separator)}|$))*$"


def _literal(text: str) -> str:
    """A pattern that matches `text` itself.

    Not by re.escape, which escapes characters that ECMA-262 does not allow to be escaped with the flag `u`.
    """
    return "".join(f"\\{char}" if char in r"\^$.*+?()[]{}|/" else char for char in text)


PAYS: Final = Parameter("pays", "EE,UK", "place", words="pays", separator=",")
SECTEUR: Final = Parameter("secteur", "restauration", "place", words="secteur", separator="|")
SOUS_SECTEUR: Final = Parameter(
    "sous_secteur", "Restaurants et services de restauration mobile", "place", separator="|"
)
Q: Final = Parameter("q", "steel", longest=LONGEST_Q)
TRI: Final = Parameter("tri", "recent", "choice", enum=ORDERS, default=ORDERS[0])  # contract B26
# A value below the minimum is an error (contract B17); a value above the maximum is reduced to it (B18).
LIMIT: Final = Parameter("limit", 50, "integer", default=DEFAULT_LIMIT, minimum=1, maximum=DEEPEST)
OFFSET: Final = Parameter("offset", 50, "integer", default=0, minimum=0)
CA_MIN: Final = Parameter("ca_min", 1_000_000, "number", column="ca_eur", bound="least", unit="EUR")
CA_MAX: Final = Parameter("ca_max", 50_000_000, "number", column="ca_eur", bound="most", unit="EUR")
EFFECTIF_MIN: Final = Parameter("effectif_min", 10, "integer", column="effectif", bound="least")
EFFECTIF_MAX: Final = Parameter("effectif_max", 250, "integer", column="effectif", bound="most")
# This filter needs no right to contacts, because it shows only that a company has a site (contract B25).
SITE_WEB: Final = Parameter("site_web", "1", "flag", enum=("1",), beside="effectif")
AVEC_CA: Final = Parameter("avec_ca", "1", "flag", enum=("1",), beside="ca_eur")  # contract B24
# A year, a month or a day: `2024`, `2024-06`, `2024-06-30`.
_DAY: Final = r"^[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?)?$"

IDS: Final = Parameter(
    "ids",
    "UK:00944111,EE:16325572",
    "companies",
    column="companies",
    pattern=r"^(?:[A-Za-z]{2}:[^\s,][^,]{0,63}(?:,|$))*$",
    separator=",",
    most=MOST_IDS,
)
ETAT: Final = Parameter(
    "etat", "active,procedure", "choices", enum=STATES, separator=",", column="etats"
)
VILLE: Final = Parameter(
    "ville", "Sheffield|Tallinn", "texts", separator="|", most=MOST_VALUES, column="villes"
)
CODE_POSTAL: Final = Parameter(
    "code_postal", "S3,1011", "postcodes", separator=",", most=MOST_VALUES, column="codes_postaux"
)
FORME: Final = Parameter(
    "forme", "Private Limited Company", "forms", separator="|", most=MOST_VALUES, column="formes"
)
NACE: Final = Parameter(
    "nace",
    "56.1,62",
    "activities",
    pattern=r"^(?:[0-9]{2}(?:\.?[0-9]{1,2})?(?:,|$))*$",
    separator=",",
    most=MOST_VALUES,
)
CREE_MIN: Final = Parameter(
    "cree_min", "2020", "first day", pattern=_DAY, column="creation", bound="least"
)
CREE_MAX: Final = Parameter(
    "cree_max", "2024-06", "last day", pattern=_DAY, column="creation", bound="most"
)
ACTIF_MIN: Final = Parameter(
    "actif_min", 500_000, "number", column="actif_eur", bound="least", unit="EUR"
)
ACTIF_MAX: Final = Parameter(
    "actif_max", 20_000_000, "number", column="actif_eur", bound="most", unit="EUR"
)
AVEC_COMPTES: Final = Parameter("avec_comptes", "1", "flag", enum=("1",), beside="actif_eur")
ACTIVITE: Final = Parameter(
    "activite", "boulangerie", "activity words", longest=LONGEST_Q, column="activites"
)
# The first language is the default (§4.6).
LANG: Final = Parameter("lang", "en", "choice", default="fr", enum=("fr", "en"))
FORMAT: Final = Parameter("format", "csv", "choice", enum=files.FORMATS)
COLONNES: Final = Parameter("colonnes", "iso2,id,nom,ca_eur", "columns", enum=FIELDS, separator=",")
COMPTES: Final = Parameter("comptes", "1", "flag", enum=("1",))
ISO: Final = Parameter("iso", "UK", words="pays")
ID: Final = Parameter(
    "id",
    "09418436",
    longest=LONGEST_ID,
    # At least one character that is not blank, no control character (contract E1), and no U+FFFD, which replaces
    # bytes that are not UTF-8.
    pattern=r"^[^\x00-\x1f\x7f-\x9f\ufffd]*[^\s\x00-\x1f\x7f-\x9f\ufffd][^\x00-\x1f\x7f-\x9f\ufffd]*$",
)

VERSION: Final = Parameter("version", "81c09a7b6c5d4e3f", "code", pattern=r"^[0-9a-f]{16}$")

# The conditions on a company (§4.4), and the filters of extensions X2. Every route that searches has all of them.
SCOPE: Final = (PAYS, SECTEUR, SOUS_SECTEUR, Q)
EXTENSION_FILTERS: Final = (
    IDS, ETAT, VILLE, CODE_POSTAL, FORME, NACE, CREE_MIN, CREE_MAX, ACTIF_MIN, ACTIF_MAX, AVEC_COMPTES,
    ACTIVITE,
)  # fmt: skip
FILTERS: Final = (CA_MIN, CA_MAX, EFFECTIF_MIN, EFFECTIF_MAX, SITE_WEB, AVEC_CA, *EXTENSION_FILTERS)

# All parameters of a search, in the order of the tables of §4.
SEARCH: Final = (*SCOPE, TRI, LIMIT, OFFSET, *FILTERS, VERSION)
# The variable parts of the path of a company.
RECORD: Final = (ISO, ID)
# The parameters of routes that take only `version`, the name of a generation: the list of countries, a record, its
# analysis, its group, the search by a number.
PINNED: Final = (VERSION,)


@cache
def names(parameters: tuple[Parameter, ...]) -> tuple[str, ...]:
    """The names of parameters, in order."""
    return tuple(parameter.name for parameter in parameters)


# -- names that callers try ---------------------------------------------------------------

# Names that callers try, but that no parameter has. Without this list, the error would suggest a parameter with a
# similar spelling and another meaning.
_NO_PARAMETER: Final = "region departement county apikey api_key key token access_token"


@cache
def spellings(allowed: tuple[str, ...]) -> Mapping[str, str]:
    """The folded names that callers may try, each with the name of the parameter among `allowed`.

    The name is "" if the route has no such parameter.

    >>> names = spellings(("pays", "tri"))
    >>> names["country"], names["order"], names["region"], names["page"]
    ('pays', 'tri', '', '')
    """
    names_by_spelling = {
        fold(word): name if name in allowed else ""
        for name, aliases in _aliases()
        for word in aliases.split()
    }
    names_by_spelling |= dict.fromkeys(map(fold, _NO_PARAMETER.split()), "")
    return names_by_spelling | {fold(name): name for name in allowed}


def _aliases() -> Iterator[tuple[str, str]]:
    """Pairs of a parameter's name and its names in other APIs, separated by spaces, for suggestions to clients."""
    yield from ((name, row["aliases"]) for name, row in texts().items())
    yield from (
        # Aliases are the same in both languages, so they are only in the column `fr`.
        (name, text.fr)
        for (name, part), text in feature_texts().items()
        if part == "aliases"
    )


# -- the words of countries and sectors -------------------------------------------------

# The table of `seeds/` with the words of a parameter, and its columns of words.
_TABLES: Final = {"pays": ("pays.csv", ("iso2",)), "secteur": ("secteurs.csv", ("slug", "secteur"))}


@cache
def words() -> SeedWords:
    """The words of `pays` (codes, then aliases) and of `secteur` (slugs, then French labels)."""
    words_by_kind = {name: _column_values(*table) for name, table in _TABLES.items()}
    words_by_kind["pays"] += tuple(SPELLINGS)
    return words_by_kind


def _column_values(table: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The values of some columns of a table, column by column."""
    rows = seed_tables.rows(table)
    return tuple(row[column] for column in columns for row in rows)
