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

from serve.contract import export_tables, seed_tables
from shards.changes.change_file import NATURES
from shards.codec.folding import SPELLINGS, fold
from shards.codec.record import FIELDS
from shards.query import DEEPEST, ORDERS, STATES
from shards.search.counts import distribution

DEFAULT_LIMIT: Final = 50  # §4.4
LONGEST_Q: Final = 120  # code points (§8.2 rule 7)
LONGEST_ID: Final = 64  # code points (contract E1)
# What companies can be counted by (extensions X3).
DIMENSIONS: Final = tuple(distribution.DIMENSIONS)
MOST_IDS: Final = 1_000  # extensions X2
MOST_VALUES: Final = 200  # of the other lists of extensions X2

SeedWords = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, or a variable part of a path.

    Attributes:
        words: the kind of words that its values are, or "".
        separator: between the values of a list, which is one text; "" for a single value.
        most: values of a list, at most.
    """

    name: str
    description: str
    example: str | int | float
    kind: Literal["string", "integer", "number", "object"] = "string"
    default: str | int | None = None
    enum: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    longest: int | None = None  # code points
    pattern: str = ""
    words: Literal["", "pays", "secteur"] = ""
    separator: str = ""
    most: int | None = None

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
    "(`plafond_resultats`), which is one on the pages of a search; a visitor's is always 0. "
    '`Link: rel="next"` leads to the next page.',
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
    "Minimum headcount (effectif), inclusive. A company of which no number is known is left out, even with a band.",
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
_SEVERAL: Final = {",": "Several are separated by commas.", "|": "Several are separated by `|`."}
_DAY: Final = r"^[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?)?$"

IDS: Final = Parameter(
    "ids",
    f"Only these companies (sociétés), at most {MOST_IDS}: each as country code, `:` and identifier, "
    f"which is understood as in the path of a record. {_SEVERAL[',']} The unknown ones are in "
    "`ids_inconnus`.",
    "UK:00944111,EE:16325572",
    pattern=r"^(?:[A-Za-z]{2}:[^\s,][^,]{0,63}(?:,|$))*$",
    separator=",",
    most=MOST_IDS,
)
ETAT: Final = Parameter(
    "etat",
    "State (état): `active`, `procedure` (insolvency, liquidation), `cessee` (ceased) or `inconnu`. "
    f"{_SEVERAL[',']} Without it: all.",
    "active,procedure",
    enum=STATES,
    separator=",",
)
VILLE: Final = Parameter(
    "ville",
    f"Whole name of the town (ville), without regard to case and accents. {_SEVERAL['|']}",
    "Sheffield|Tallinn",
    separator="|",
    most=MOST_VALUES,
)
CODE_POSTAL: Final = Parameter(
    "code_postal",
    f"First characters of the postcode (code postal), blanks apart. {_SEVERAL[',']}",
    "S3,1011",
    separator=",",
    most=MOST_VALUES,
)
FORME: Final = Parameter(
    "forme",
    f"Legal form (forme), exactly as the companies have it. {_SEVERAL['|']}",
    "Private Limited Company",
    separator="|",
    most=MOST_VALUES,
)
NACE: Final = Parameter(
    "nace",
    "Activity (nace_code): a division, group or class of NACE Rev. 2 or 2.1, such as `56`, `56.1` or "
    f"`56.10`; dots are optional. {_SEVERAL[',']}",
    "56.1,62",
    pattern=r"^(?:[0-9]{2}(?:\.?[0-9]{1,2})?(?:,|$))*$",
    separator=",",
    most=MOST_VALUES,
)
CREE_MIN: Final = Parameter(
    "cree_min",
    "Created (date_creation) on this day or later: `YYYY`, `YYYY-MM` or `YYYY-MM-DD`. A date that is "
    "known without its day counts as its first day; a company without one is left out.",
    "2020",
    pattern=_DAY,
)
CREE_MAX: Final = Parameter(
    "cree_max",
    "Created on this day or earlier; a year or month includes its last day. Not before `cree_min`.",
    "2024-06",
    pattern=_DAY,
)
ACTIF_MIN: Final = Parameter(
    "actif_min",
    "Minimum total assets (total de l'actif) in euros, inclusive. A company that publishes none is "
    "left out.",
    500_000,
    "number",
)
ACTIF_MAX: Final = Parameter(
    "actif_max",
    "Maximum total assets (total de l'actif) in euros, inclusive; not below `actif_min`.",
    20_000_000,
    "number",
)
AVEC_COMPTES: Final = Parameter(
    "avec_comptes",
    "`1`: only companies with financial statements (comptes).",
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
FORMAT: Final = Parameter(
    "format",
    "Format of the file: a workbook (`xlsx`) or tables (`csv`, `ndjson`, `parquet`). Without it the header "
    "`Accept` decides: `*/*` or none is a workbook, and what cannot be served is refused (406).",
    "csv",
    enum=export_tables.FORMATS,
)
COLONNES: Final = Parameter(
    "colonnes",
    "Columns (colonnes) of the companies, keys of `Societe` separated by commas, in the order wanted: of a table, "
    "or of the sheet Liste of a workbook. Without it: all.",
    "iso2,id,nom,ca_eur",
    enum=FIELDS,
    separator=",",
)
COMPTES: Final = Parameter(
    "comptes",
    "`1`: also the statement lines (comptes) of the first companies that have some, as many as the plan allows; "
    "a table is then a `.zip` of both and of the licences. A workbook always has them.",
    "1",
    enum=("1",),
)
EXPORT_LIMIT: Final = Parameter(
    "limit",
    "Companies wanted. Without it as many as the plan allows in one file; above that it is "
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
    # At least one character that is not blank, no control character (contract E1), and none that stands for bytes
    # which are no UTF-8.
    pattern=r"^[^\x00-\x1f\x7f-\x9f\ufffd]*[^\s\x00-\x1f\x7f-\x9f\ufffd][^\x00-\x1f\x7f-\x9f\ufffd]*$",
)

VALEUR: Final = replace(
    ID,
    name="valeur",
    description="A number of a company, in any spelling: national identifier (with or without its "
    "leading zeros, with or without the code of its country), VAT number (TVA), SIRET or LEI.",
    example="GB09418436",
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

PAR: Final = Parameter(
    "par",
    "What to count by (répartition par), one or more: country, sector, sub-sector, activity, legal "
    "form, state, town, band of turnover, band of headcount, year of creation. "
    f"{_SEVERAL[',']}",
    "secteur,etat",
    enum=DIMENSIONS,
    separator=",",
)
LIMITE: Final = Parameter(
    "limite",
    "Values of each of `nace`, `forme` and `ville`, the most frequent ones; the others are summed up "
    "in `autres`. Clamped without an error.",
    20,
    "integer",
    default=20,
    minimum=1,
    maximum=200,
)

N: Final = Parameter(
    "n",
    "Comparable companies wanted. Clamped without an error to this maximum and to what the plan shows.",
    10,
    "integer",
    default=10,
    minimum=1,
    maximum=50,
)

# What a company must be to be found (§4.4), and the filters of extensions X2. Every route that searches takes them all.
SCOPE: Final = (PAYS, SECTEUR, SOUS_SECTEUR, Q)
FURTHER: Final = (
    IDS, ETAT, VILLE, CODE_POSTAL, FORME, NACE, CREE_MIN, CREE_MAX, ACTIF_MIN, ACTIF_MAX, AVEC_COMPTES
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
COMPARABLES: Final = (N, VERSION)
MARCHE: Final = (*SCOPE, *FILTERS, VERSION)
# Routes whose only parameter is the generation: countries, a record, its analysis, its group, a number.
PINNED: Final = (VERSION,)
MODIFICATIONS: Final = (DEPUIS, PAYS, NATURE, LIMIT, CURSEUR, VERSION)
# The body of POST /modifications has these, and `ids` or a `recherche` with every filter of a search (X8).
WATCH: Final = (DEPUIS, LIMIT, CURSEUR)
WATCHED: Final = (*SCOPE, *FILTERS)


def names(parameters: Sequence[Parameter]) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in parameters)


# -- names that callers try ---------------------------------------------------------------

# What other APIs call a parameter, in English above all. A name that stands for none has "", so that
# nothing that is merely spelt alike is proposed for it.
_ALSO: Final[Mapping[str, str]] = {
    "pays": "country countries country_code countrycode iso iso2 land",
    "secteur": "sector sectors industry activity activite branche",
    "sous_secteur": "subsector sub_sector subsectors sub_sectors subindustry",
    "q": "name query search term text keyword keywords nom company company_name denomination "
    "recherche raison_sociale",
    "tri": "sort sort_by sortby order order_by orderby ordre",
    "limit": "per_page perpage page_size pagesize size rows max_results taille limite",
    "offset": "page skip start from decalage",
    "ca_min": "turnover_min min_turnover revenue_min min_revenue sales_min chiffre_affaires_min",
    "ca_max": "turnover_max max_turnover revenue_max max_revenue sales_max chiffre_affaires_max",
    "effectif_min": "employees_min min_employees headcount_min staff_min salaries_min",
    "effectif_max": "employees_max max_employees headcount_max staff_max salaries_max",
    "site_web": "website web url has_website site",
    "avec_ca": "with_turnover has_turnover has_revenue",
    "version": "generation snapshot",
    "depuis": "since after changed_since",
    "curseur": "cursor next",
    "nature": "kind change change_type",
    "par": "by group_by groupby facet facets dimension dimensions aggregate repartition",
    "lang": "language langue locale",
    "etat": "status state statut active",
    "ville": "city town commune municipality",
    "code_postal": "zip zipcode zip_code postcode postal_code postalcode cp",
    "forme": "legal_form legalform forme_juridique company_type",
    "nace": "nace_code naf ape sic code_nace code_naf",
    "cree_min": "created_min created_after created_from incorporated_from founded_min",
    "cree_max": "created_max created_before created_to incorporated_to founded_max",
    "actif_min": "assets_min min_assets total_assets_min",
    "actif_max": "assets_max max_assets total_assets_max",
    "avec_comptes": "has_accounts with_accounts has_financials with_statements",
    "ids": "identifiers company_ids",
    "format": "format output file_format filetype type_fichier",
    "colonnes": "columns column fields select champs",
    "comptes": "statements accounts financials etats_financiers",
    "": "region departement county apikey api_key key token access_token",
}


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
        for name, words in _ALSO.items()
        for word in words.split()
    }
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
