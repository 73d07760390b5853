"""Every parameter of the API, declared once: for the parsers that check it, for the documents.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, Literal

from serve.contract import export_tables, seed_tables
from serve.contract.prices import fill_prices
from serve.contract.tables import TABLES, feature_texts, read_rows
from serve.contract.text import Text
from shards.changes.change_file import NATURES
from shards.codec.folding import SPELLINGS, fold
from shards.codec.record import FIELDS
from shards.query import DEEPEST, ORDERS, STATES
from shards.search import distribution

DEFAULT_LIMIT: Final = 50  # §4.4
LONGEST_Q: Final = 120  # code points (§8.2 rule 7, contract B13)
LONGEST_ID: Final = 64  # code points (contract E1)
LONGEST_NUMBER: Final = 120  # with its label, and the name of its court or register
# What companies can be counted by (extensions X3).
DIMENSIONS: Final = tuple(distribution.DIMENSIONS)
MOST_IDS: Final = 1_000  # extensions X2
MOST_VALUES: Final = 200  # of the other lists of extensions X2

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
        row = texts().get(self.component)
        if row is None:  # a parameter of one feature, which has few of these texts
            return feature_texts().get((self.component, _PARTS[kind]), Text("", ""))
        return Text(fill_prices(row[f"{kind}fr"]), fill_prices(row[f"{kind}en"]))

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
# The route of the sub-sectors needs a sector: without one it has nothing to list (contract G4).
SECTEUR_REQUIS: Final = replace(
    SECTEUR,
    text="secteur-requis",
    required=True,
)
SOUS_SECTEUR: Final = Parameter(
    "sous_secteur", "Restaurants et services de restauration mobile", "place", separator="|"
)
Q: Final = Parameter("q", "steel", longest=LONGEST_Q)
# The route of the suggestions has nothing to complete without a text (X4).
Q_REQUIS: Final = replace(
    Q,
    text="q-requis",
    required=True,
    example="royal to",
)
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
FORMAT: Final = Parameter("format", "csv", "choice", enum=export_tables.FORMATS)
COLONNES: Final = Parameter("colonnes", "iso2,id,nom,ca_eur", "columns", enum=FIELDS, separator=",")
COMPTES: Final = Parameter("comptes", "1", "flag", enum=("1",))
EXPORT_LIMIT: Final = Parameter(
    "limit", 100, "integer", minimum=1, column="lines", text="limit-export"
)
ISO: Final = Parameter("iso", "UK", words="pays")
ID: Final = Parameter(
    "id",
    "09418436",
    longest=LONGEST_ID,
    # At least one character that is not blank, no control character (contract E1), and none that stands for bytes
    # which are no UTF-8.
    pattern=r"^[^\x00-\x1f\x7f-\x9f\ufffd]*[^\s\x00-\x1f\x7f-\x9f\ufffd][^\x00-\x1f\x7f-\x9f\ufffd]*$",
)

VALEUR: Final = replace(
    ID,
    name="valeur",
    text="valeur",
    example="GB09418436",
    longest=LONGEST_NUMBER,
)

# Of the service for OpenRefine (X5).
JETON: Final = Parameter("jeton", "visiteur")
QUOI: Final = Parameter("quoi", "entity")
SOCIETE: Final = Parameter("societe", "UK:09418436")
_JSON: Final = "application/json"
QUERIES: Final = Parameter("queries", '{"q0": {"query": "Royal Tool Control"}}', media=_JSON)
EXTEND: Final = Parameter(
    "extend", '{"ids": ["UK:00944111"], "properties": [{"id": "ville"}]}', media=_JSON
)
CHAMPS: Final = Parameter("limit", "10", pattern="^0*[1-9][0-9]*$", longest=9, text="limit-champs")
PREFIX: Final = Parameter("prefix", "royal to")

VERSION: Final = Parameter("version", "81c09a7b6c5d4e3f", "code", pattern=r"^[0-9a-f]{16}$")
DEPUIS: Final = Parameter(
    "depuis", "81c09a7b6c5d4e3f", "code", pattern=r"^[0-9a-f]{16}$", required=True
)
NATURE: Final = Parameter(
    "nature", "supprimee", "choices", enum=NATURES, separator=",", column="natures"
)
CURSEUR: Final = Parameter(
    "curseur",
    "4f6a0c1d2e3b4a59.200.1a2b3c4d",
    "code",
    pattern=r"^[0-9a-f]{16}\.[0-9]{1,10}\.[0-9a-f]{8}$",
    from_answer=True,
)

PAR: Final = Parameter(
    "par", "secteur,etat", "choices", enum=DIMENSIONS, separator=",", required=True
)
LIMITE: Final = Parameter("limite", 20, "integer", default=20, minimum=1, maximum=200)

N: Final = Parameter("n", 10, "integer", default=10, minimum=1, maximum=50)

# What a company must be to be found (§4.4), and the filters of extensions X2. Every route that searches takes them all.
SCOPE: Final = (PAYS, SECTEUR, SOUS_SECTEUR, Q)
FURTHER: Final = (
    IDS, ETAT, VILLE, CODE_POSTAL, FORME, NACE, CREE_MIN, CREE_MAX, ACTIF_MIN, ACTIF_MAX, AVEC_COMPTES,
    ACTIVITE,
)  # fmt: skip
FILTERS: Final = (CA_MIN, CA_MAX, EFFECTIF_MIN, EFFECTIF_MAX, SITE_WEB, AVEC_CA, *FURTHER)

# The parameters of each route, in the order of its table in §4.
SEARCH: Final = (*SCOPE, TRI, LIMIT, OFFSET, *FILTERS, VERSION)
REPARTITION: Final = (PAR, LIMITE, *SCOPE, *FILTERS, VERSION)
# An export takes a whole scope, not a page of it (§4.6, F2).
EXPORT: Final = (*SCOPE, TRI, EXPORT_LIMIT, *FILTERS, LANG, FORMAT, COLONNES, COMPTES, VERSION)
SECTORS: Final = (PAYS, VERSION)
SUB_SECTORS: Final = (SECTEUR_REQUIS, PAYS, VERSION)
SOURCES: Final = (PAYS, VERSION)
SUGGESTIONS: Final = (Q_REQUIS, PAYS, VERSION)
RECORD: Final = (ISO, ID)
# The variable parts of paths.
PATH: Final = (*RECORD, VALEUR, JETON, QUOI, SOCIETE)
RECONCILIATION: Final = (QUERIES, EXTEND, VERSION)
RECONCILIATION_SUGGESTIONS: Final = (PREFIX, VERSION)
COMPARABLES: Final = (N, VERSION)
MARCHE: Final = (*SCOPE, *FILTERS, VERSION)
# Routes whose only parameter is the generation: countries, a record, its analysis, its group, a number.
PINNED: Final = (VERSION,)
MODIFICATIONS: Final = (DEPUIS, PAYS, NATURE, LIMIT, CURSEUR, VERSION)
# The body of POST /modifications has these, and `ids` or a `recherche` with every filter of a search (X8).
WATCH: Final = (DEPUIS, LIMIT, CURSEUR, VERSION)
WATCHED: Final = (*SCOPE, *FILTERS)


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
        for name, row in texts().items()
        for word in row["aliases"].split()
    }
    also |= dict.fromkeys(map(fold, _NO_PARAMETER.split()), "")
    return also | {fold(name): name for name in allowed}


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
