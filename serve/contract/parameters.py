"""Every parameter of the API, declared once: for the parsers that check it, for the documents.

`serve/request/params.py`, `serve/request/json_body.py` and `serve/api/societe.py` take names, enums,
limits and defaults from here; /openapi.json and the tools take descriptions and JSON Schemas. A limit
that changes here changes everywhere, and no document promises a limit that the code does not keep.

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

from serve.contract import seed_tables
from shards.changes.change_file import NATURES
from shards.generations.reference import SPELLINGS
from shards.query import DEEPEST, ORDERS

DEFAULT_LIMIT: Final = 50  # §4.4
LONGEST_Q: Final = 120  # code points (§8.2 rule 7)
LONGEST_ID: Final = 64  # code points (contract E1)

SeedWords = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, or a variable part of a path.

    Attributes:
        words: the kind of words that its values are, or "".
        separator: between the values of a list, which is one text; "" for a single value.
    """

    name: str
    description: str
    example: str | int | float
    kind: Literal["string", "integer", "number"] = "string"
    default: str | int | None = None
    enum: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    longest: int | None = None  # code points
    pattern: str = ""
    words: Literal["", "pays", "secteur"] = ""
    separator: str = ""

    def schema(self, words: SeedWords) -> dict[str, Any]:
        """Its JSON Schema (2020-12), without the description; `words` as the function returns them."""
        pattern = self.pattern
        enum: Sequence[str] = self.enum
        if self.words and self.separator:
            pattern = list_pattern(words[self.words], self.separator)
        elif self.words:
            enum = words[self.words]
        limits = {
            "type": self.kind,
            "enum": list(enum),
            "minLength": 1 if self.pattern else None,
            "maxLength": self.longest,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "pattern": pattern,
            "default": self.default,
        }
        return {name: limit for name, limit in limits.items() if limit not in (None, "", [])}


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


PAYS: Final = Parameter(
    "pays",
    "Countries (pays) as codes separated by commas: ISO 3166-1 alpha-2, with `UK` for the United "
    "Kingdom (`GB` is understood too). Without it: all countries. The codes: `/api/v1/pays`.",
    "EE,UK",
    words="pays",
    separator=",",
)
SECTEUR: Final = Parameter(
    "secteur",
    "Sectors (secteurs) separated by `|`, each its exact French label or its slug. Without it: all "
    "sectors. Labels and slugs: `/api/v1/secteurs`.",
    "restauration",
    words="secteur",
    separator="|",
)
# The route of the sub-sectors needs a sector: without one it has nothing to list (contract G4).
SECTEUR_REQUIS: Final = replace(
    SECTEUR,
    description="Sectors (secteurs) separated by `|`, each its exact French label or its slug; at "
    "least one. Labels and slugs: `/api/v1/secteurs`.",
)
SOUS_SECTEUR: Final = Parameter(
    "sous_secteur",
    "Sub-sectors (sous-secteurs) separated by `|`, each its exact French label as "
    "`/api/v1/sous-secteurs` gives it. Only together with `secteur`; without it: whole sectors.",
    "Restaurants et services de restauration mobile",
    separator="|",
)
Q: Final = Parameter(
    "q",
    "Text that the name (nom) or a former name contains, without regard to case and accents, or "
    "the first characters of the national identifier.",
    "steel",
    longest=LONGEST_Q,
)
# The route of the suggestions has nothing to complete without a text (X4).
Q_REQUIS: Final = replace(
    Q,
    description="Text to complete: the words of a name (nom), the last one as far as it is known. "
    "Without regard to case and accents.",
    example="royal to",
)
TRI: Final = Parameter(
    "tri",
    "Order (tri): turnover falling or rising (`ca_desc`, `ca_asc`), name (`nom`), headcount "
    "falling (`effectif_desc`), newest first (`recent`), share capital falling (`capital_desc`), "
    "completeness falling (`score`). Unknown values come last.",
    "recent",
    enum=ORDERS,
    default=ORDERS[0],
)
LIMIT: Final = Parameter(
    "limit",
    "Companies wanted. Clamped without an error to what the plan shows and to what one call may "
    "bring; the answer's `limit` is what was applied.",
    50,
    "integer",
    default=DEFAULT_LIMIT,
    minimum=1,
    maximum=DEEPEST,
)
OFFSET: Final = Parameter(
    "offset",
    "Number of companies to skip, for paging. offset + limit never passes the plan's cap "
    '(`plafond_resultats`); a visitor\'s is always 0. `Link: rel="next"` leads to the next page.',
    50,
    "integer",
    default=0,
    minimum=0,
)
CA_MIN: Final = Parameter(
    "ca_min",
    "Minimum turnover (chiffre d'affaires) in euros, inclusive. A company that publishes none is "
    "left out.",
    1_000_000,
    "number",
)
CA_MAX: Final = Parameter(
    "ca_max",
    "Maximum turnover (chiffre d'affaires) in euros, inclusive; not below `ca_min`.",
    50_000_000,
    "number",
)
EFFECTIF_MIN: Final = Parameter(
    "effectif_min",
    "Minimum headcount (effectif), inclusive. A company that publishes none is left out.",
    10,
    "integer",
)
EFFECTIF_MAX: Final = Parameter(
    "effectif_max",
    "Maximum headcount (effectif), inclusive; not below `effectif_min`.",
    250,
    "integer",
)
SITE_WEB: Final = Parameter(
    "site_web", "`1`: only companies with a declared website (site web).", "1", enum=("1",)
)
AVEC_CA: Final = Parameter(
    "avec_ca",
    "`1`: only companies with a published turnover (chiffre d'affaires), 0 included.",
    "1",
    enum=("1",),
)
# The first language is the default (§4.6).
LANG: Final = Parameter(
    "lang",
    "Language (langue) of the workbook's sheets and headings; the data stay French.",
    "en",
    default="fr",
    enum=("fr", "en"),
)
EXPORT_LIMIT: Final = Parameter(
    "limit",
    "Companies wanted. Without it as many as the plan allows in one workbook; above that it is "
    "clamped to it without an error.",
    100,
    "integer",
    minimum=1,
)
ISO: Final = Parameter(
    "iso",
    "Country (pays) of the company: ISO 3166-1 alpha-2, with `UK` for the United Kingdom (`GB` is "
    "understood too).",
    "UK",
    words="pays",
)
ID: Final = Parameter(
    "id",
    "National identifier (identifiant), as the register writes it; blanks, dots and slashes in it "
    "do not matter where it is unique without them.",
    "09418436",
    longest=LONGEST_ID,
    # At least one character that is not blank, and no control character (contract E1).
    pattern=r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$",
)

VERSION: Final = Parameter(
    "version",
    "Generation of the data to answer from, as `X-Donnees-Version` named it: the pages of a walk "
    "then belong together although a new generation is published meanwhile. The published one or "
    "the one before it, else 409 `version_expiree`. Without it: the published one.",
    "81c09a7b6c5d4e3f",
    pattern=r"^[0-9a-f]{16}$",
)
DEPUIS: Final = Parameter(
    "depuis",
    "Generation that the caller has (`X-Donnees-Version`): what changed since is told. One that no "
    "known step leads away from is 409 `version_expiree`.",
    "81c09a7b6c5d4e3f",
    pattern=r"^[0-9a-f]{16}$",
)
NATURE: Final = Parameter(
    "nature",
    "Kinds of changes separated by commas: `supprimee` (gone: purge it), `creee` (new), `modifiee` "
    "(other values). Without it: all.",
    "supprimee",
    separator=",",
    pattern=list_pattern(NATURES, ","),
)
CURSEUR: Final = Parameter(
    "curseur",
    "Where to go on: `suivant` of the page before, with the same other parameters.",
    "4f6a0c1d2e3b4a59.200.1a2b3c4d",
    pattern=r"^[0-9a-f]{16}\.[0-9]{1,10}\.[0-9a-f]{8}$",
)

_FILTERS: Final = (CA_MIN, CA_MAX, EFFECTIF_MIN, EFFECTIF_MAX, SITE_WEB, AVEC_CA)

# The parameters of each route, in the order of its table in §4.
SEARCH: Final = (PAYS, SECTEUR, SOUS_SECTEUR, Q, TRI, LIMIT, OFFSET, *_FILTERS, VERSION)
# An export takes a whole scope: neither a page of it nor a sub-sector (§4.6, F2).
EXPORT: Final = (PAYS, SECTEUR, Q, TRI, EXPORT_LIMIT, *_FILTERS, LANG)
SECTORS: Final = (PAYS,)
SUB_SECTORS: Final = (SECTEUR_REQUIS, PAYS)
SOURCES: Final = (PAYS, VERSION)
SUGGESTIONS: Final = (Q_REQUIS, PAYS, VERSION)
RECORD: Final = (ISO, ID)
MODIFICATIONS: Final = (DEPUIS, PAYS, NATURE, LIMIT, CURSEUR)


def names(parameters: Sequence[Parameter]) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in parameters)


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
