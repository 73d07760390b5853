"""Parameters, declared once: for the parsers that check them, for the documents.

The parameters of several features are here; a feature declares its own beside the function that reads them.

`serve/request/reader.py` and `serve/request/values.py` take names, kinds, enums, limits and defaults from here;
/openapi.json and the tools take descriptions and JSON Schemas. A limit that changes here changes everywhere, and no
document promises a limit that the code does not keep.

A schema describes a value as a careful client writes it. The server accepts more (contract B): blanks
around a value, an empty value for an absent one, codes and slugs in any case, a `limit` over its
maximum.

`words` lists the countries and sectors for these schemas. They come from the tables in `seeds/` that
the build copies into every generation, so the documents are complete before a generation is
published. Requests are checked against the words of the generation (serve/request/place_names.py).
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

DEFAULT_LIMIT: Final = 50  # §4.4
LONGEST_Q: Final = 120  # code points (§8.2 rule 7, contract B13)
LONGEST_ID: Final = 64  # code points (contract E1)
MOST_IDS: Final = 1_000  # extensions X2
MOST_VALUES: Final = 200  # of the other lists of extensions X2
# Limits of the matching of lists, which texts name as well (extensions X5).
MOST_LINES: Final = 1_000  # of a request
LINES_PER_CALL: Final = 10  # a call of the day for each of so many begun
VISITOR_LINES: Final = 2  # of a request without a key
MOST_CANDIDATES: Final = 10  # of a line
DEFAULT_CANDIDATES: Final = 3
LONGEST_VALUE: Final = 300  # characters of a value of a line

# What a value is, and so how it is read (serve/request/reader.py). Parameters of a kind differ by data alone.
Kind = Literal[
    "text",
    "code",  # a text of a pattern
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
    "place",  # countries, sectors and sub-sectors, which are read together
    "object",
]
# The parts of its text in `texts.csv` of a feature, by the columns of tables/parameters.csv.
_PARTS: Final = {
    "": "description", "label_": "label", "heading_": "heading", "chip_": "chip", "needed_": "needed",
}  # fmt: skip
_JSON_TYPES: Final = ("integer", "number", "object")

SeedWords = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter, or a variable part of a path. Each is declared once, so it equals itself alone.

    Attributes:
        words: the kind of words that its values are, or "".
        separator: between the values of a list, which is one text; "" for a single value.
        most: values of a list, at most.
        column: what it is of a query (shards/query.py) or a call, if that is not its name.
        bound: which bound on its column it is (`shards.query.Range`); "" for none.
        unit: of a number.
        media: the media type that a text is of, if another than plain text.
        beside: a flag stands beside the bounds on this column in a form.
        required: the route has no answer without it.
        from_answer: only an answer has a value that can be sent, so `example` just shows its form.
        text: the name of its texts, in tables/parameters.csv or `texts.csv` of its feature, if that is not its name.
    """

    name: str
    example: str | int | float
    kind: Kind = "text"
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
        """The sentences that tell a program what it is."""
        return self._texts("")

    @property
    def examples(self) -> dict[str, list[str | int | float]]:
        """The key of a schema with values that can be sent, if there are any."""
        return {} if self.from_answer else {"examples": [self.example]}

    @property
    def label(self) -> Text:
        """The name of its field in a form."""
        return self._texts("label_")

    @property
    def heading(self) -> Text:
        """What it restricts, its unit apart: over the fields of a form, in the sheet *Périmètre*."""
        found = self._texts("heading_")
        return found if found.fr else self.label

    @property
    def chip(self) -> Text:
        """A restriction by it in a few words, with `{}` for the value."""
        return self._texts("chip_")

    @property
    def what_to_send(self) -> Text:
        """What to send of one that is required."""
        return self._texts("needed_")

    @property
    def component(self) -> str:
        """Its name among the components of /openapi.json."""
        return self.text or self.name

    def _texts(self, kind: str) -> Text:
        if row := texts().get(self.component):
            text = Text(row[f"{kind}fr"], row[f"{kind}en"])
        else:  # a parameter of one feature, which has few of these texts
            text = feature_texts().get((self.component, _PARTS[kind]), Text("", ""))
        return Text(fill_prices(text.fr), fill_prices(text.en))

    def schema(self, words: SeedWords) -> dict[str, Any]:
        """Its JSON Schema (2020-12), without the description; `words` as the function returns them."""
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
    """The rows of tables/parameters.csv: descriptions, labels, chips, what other APIs call a parameter (`aliases`)."""
    return {row["name"]: row for row in read_rows(TABLES / "parameters.csv")}


def list_pattern(words: Sequence[str], separator: str) -> str:
    """A regular expression (ECMA-262 and Python) for lists of `words`; it contains each word once.

    It accepts the empty list: "empty means all" (§4.4).

    >>> list_pattern(["FR", "UK"], ",")
    '^(?:(?:FR|UK)(?:,|$))*$'
    """
    one = "|".join(_literal(word) for word in words)
    return f"^(?:(?:{one})(?:{_literal(separator)}|$))*$"


def _literal(text: str) -> str:
    # re.escape escapes more than ECMA-262 lets one escape with the flag `u`.
    return "".join(f"\\{char}" if char in r"\^$.*+?()[]{}|/" else char for char in text)


PAYS: Final = Parameter("pays", "EE,UK", "place", words="pays", separator=",")
SECTEUR: Final = Parameter("secteur", "restauration", "place", words="secteur", separator="|")
SOUS_SECTEUR: Final = Parameter(
    "sous_secteur", "Restaurants et services de restauration mobile", "place", separator="|"
)
Q: Final = Parameter("q", "steel", longest=LONGEST_Q)
TRI: Final = Parameter("tri", "recent", "choice", enum=ORDERS, default=ORDERS[0])  # contract B26
# An error below the minimum (contract B17), cut to the maximum (B18).
LIMIT: Final = Parameter("limit", 50, "integer", default=DEFAULT_LIMIT, minimum=1, maximum=DEEPEST)
OFFSET: Final = Parameter("offset", 50, "integer", default=0, minimum=0)
CA_MIN: Final = Parameter("ca_min", 1_000_000, "number", column="ca_eur", bound="least", unit="EUR")
CA_MAX: Final = Parameter("ca_max", 50_000_000, "number", column="ca_eur", bound="most", unit="EUR")
EFFECTIF_MIN: Final = Parameter("effectif_min", 10, "integer", column="effectif", bound="least")
EFFECTIF_MAX: Final = Parameter("effectif_max", 250, "integer", column="effectif", bound="most")
# Without the right to contacts, too: it tells only that there is a site (contract B25).
SITE_WEB: Final = Parameter("site_web", "1", "flag", enum=("1",), beside="effectif")
AVEC_CA: Final = Parameter("avec_ca", "1", "flag", enum=("1",), beside="ca_eur")  # contract B24
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
    # At least one character that is not blank, no control character (contract E1), and none that stands for bytes
    # which are no UTF-8.
    pattern=r"^[^\x00-\x1f\x7f-\x9f\ufffd]*[^\s\x00-\x1f\x7f-\x9f\ufffd][^\x00-\x1f\x7f-\x9f\ufffd]*$",
)

VERSION: Final = Parameter("version", "81c09a7b6c5d4e3f", "code", pattern=r"^[0-9a-f]{16}$")

# What a company must be to be found (§4.4), and the filters of extensions X2. Every route that searches takes them all.
SCOPE: Final = (PAYS, SECTEUR, SOUS_SECTEUR, Q)
FURTHER: Final = (
    IDS, ETAT, VILLE, CODE_POSTAL, FORME, NACE, CREE_MIN, CREE_MAX, ACTIF_MIN, ACTIF_MAX, AVEC_COMPTES,
    ACTIVITE,
)  # fmt: skip
FILTERS: Final = (CA_MIN, CA_MAX, EFFECTIF_MIN, EFFECTIF_MAX, SITE_WEB, AVEC_CA, *FURTHER)

# In the order of the tables of §4.
SEARCH: Final = (*SCOPE, TRI, LIMIT, OFFSET, *FILTERS, VERSION)
# A company, in a path.
RECORD: Final = (ISO, ID)
# Routes whose only parameter is the generation: countries, a record, its analysis, its group, a number.
PINNED: Final = (VERSION,)


@cache
def names(parameters: tuple[Parameter, ...]) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in parameters)


# -- names that callers try ---------------------------------------------------------------

# What stands for no parameter, so that nothing that is merely spelt alike is proposed for it.
_NO_PARAMETER: Final = "region departement county apikey api_key key token access_token"


@cache
def spellings(allowed: tuple[str, ...]) -> Mapping[str, str]:
    """What callers may write for the parameters `allowed`, folded, each with the name it stands for.

    The name is "" where the route has no such parameter.

    >>> known = spellings(("pays", "tri"))
    >>> known["country"], known["order"], known["region"], known["page"]
    ('pays', 'tri', '', '')
    """
    also = {
        fold(word): name if name in allowed else ""
        for name, aliases in _aliases()
        for word in aliases.split()
    }
    also |= dict.fromkeys(map(fold, _NO_PARAMETER.split()), "")
    return also | {fold(name): name for name in allowed}


def _aliases() -> Iterator[tuple[str, str]]:
    """Parameters with the words that other APIs have for them."""
    yield from ((name, row["aliases"]) for name, row in texts().items())
    yield from (
        (name, text.fr) for (name, part), text in feature_texts().items() if part == "aliases"
    )


# -- the words of countries and sectors -------------------------------------------------

# Each parameter that takes such words, with its table and the columns of its words.
_TABLES: Final = {"pays": ("pays.csv", ("iso2",)), "secteur": ("secteurs.csv", ("slug", "secteur"))}


@cache
def words() -> SeedWords:
    """`pays`: the codes, aliases last; `secteur`: the slugs, then the French labels."""
    found = {name: _column(*table) for name, table in _TABLES.items()}
    found["pays"] += tuple(SPELLINGS)
    return found


def _column(table: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    rows = seed_tables.rows(table)
    return tuple(row[column] for column in columns for row in rows)
