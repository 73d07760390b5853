"""The texts of the document: its description and the description of an export. Pure.

Figures of plans and limits are filled in from the tables and from the settings of the running server.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from quota.plans import Plan
from serve.access.rights import is_visitor_plan
from serve.config import BurstLimits
from serve.contract import files, seed_tables
from serve.contract.errors import CODES
from serve.contract.feature import Product
from serve.contract.files import ExportColumn

# The type in Parquet of each type of a column (`ExportColumn.type`), except text.
_PARQUET_TYPES: Final = {
    "integer": "INT64",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "texts": "LIST of STRING",
}


def _column_types(columns: Iterable[ExportColumn]) -> str:
    """The names of columns by their type in Parquet, as a part of a sentence; text columns are left out."""
    all_columns = list(columns)
    names_by_type = {
        parquet: ", ".join(f"`{column.name}`" for column in all_columns if column.type == kind)
        for kind, parquet in _PARQUET_TYPES.items()
    }
    return "; ".join(f"{parquet}: {names}" for parquet, names in names_by_type.items() if names)


# The description of the 200 of an export.
EXPORT_FILE: Final = (
    "The file. `xlsx`: Intro, Périmètre, Par pays, Par secteur, Liste, Contacts, a sheet of statements "
    "a company, Méthodologie, Journal. Tables have a column per key of `Societe`, in its order, or those "
    "of `colonnes`, whatever the plan; contacts are empty without the right to them. With `comptes=1`, a "
    "`.zip` of `societes`, of `comptes`, whose columns are those of `LigneComptesExportee`, and of "
    "`licences.json`, the attributions of the sources, which are the comment of the archive too. Without an "
    "archive, the header `Link` leads to them. `csv`: RFC 4180 "
    "with a line of names, UTF-8 with a byte order mark; lists with `|` between their texts; a text that "
    "begins with `=`, `+`, `-`, `@`, tab or line break, also after apostrophes and quotes, gets one more "
    "apostrophe in front, and so does such a beginning after a semicolon, tab or line break within a text, so "
    "that no spreadsheet reads it as a formula. `ndjson`: the objects of the API, one per line. "
    "`parquet`: zstd, with the attributions of the sources in the metadata (`licences`); "
    f"{_column_types(files.company_columns().values())}; of `comptes`, "
    f"{_column_types(files.STATEMENT_COLUMNS)}; all others are STRING."
)
# The groups of operations in the document, with their descriptions.
TAGS: Final = {
    "Companies": "Search, read and export companies.",
    "Lists": "The values for countries, sectors and sub-sectors, with counts.",
    "Account": "The rights and the usage of a key.",
    "Documents": "The description of the service.",
    "Service": "For the operator of the service.",
}

# The description of the API, in Markdown; `description` fills the placeholders.
_DESCRIPTION: Final = """\
European companies as their registers publish them: searched by country, sector, activity, town, legal
form, state, age, name, turnover, assets and headcount, with an exact total for every search.
Read-only; texts and labels of the data are French.

## Keys and plans

`Authorization: Bearer <key>` identifies an organisation (account area, "API keys"). Without it a
call is a visitor's: a preview of two companies, no statements, no export. A call with a key that is not
valid gets 401 and the answer of a visitor. Fields and formats are the same on every plan.

{plans}

Keys of some plans need the API tool, a yearly option, excl. VAT: {tool}.
Without it they are served like keys of the free plan; `plan_souscrit` and `outil_api` say so.

Calls are counted by the UTC day, exports and credits by the UTC month. The limit of calls a minute
applies to an organisation, whatever the number of its keys, or to the address of a visitor (of IPv6: a
/64). Further limits, with a key or without: each address has {lists} calls of public lists a minute,
{pages} pages, {files} documents and other requests that are no calls. An organisation may have
{exports} exports at once, and abandon {abandoned} an hour before they are made: each further one counts.
Without a key, {places} requests of an address are answered at the same time. `X-Quota-*`, `RateLimit` and
`X-Credits-*` report the rest. Only an answer with 200, 402 or 404 `societe_introuvable` is counted.

## Values

Spaces around a value and empty values are ignored. Codes of countries, slugs of sectors and `ids` may
be in upper or lower case; other values (`etat`, `tri`, `format`, `lang`, `par`, `colonnes`) must be spelt as
listed. A list may also be sent as a repeated parameter. Anything unknown is an error that names it.

## Errors

`{{"erreur": {{"code", "message"}}}}`, with further keys beside it. The message is French or, with
`Accept-Language: en`, English. Codes never change; new codes may be added.

{errors}

## HTTP

A path with GET also has HEAD, without a body and without credits (not the export): it is refused where
GET would be, and charges nothing. Other methods get 405, unknown paths 404. Below `/api/v1` and here
every origin may read the answers (CORS), and every path answers OPTIONS with 204, unknown paths too.
`ETag` with `If-None-Match` gives 304, which is free. Lists may be cached for five minutes.
`X-Donnees-Version` names the data, which change with a build, usually nightly. An answer to GET of more
than 1 kB is compressed with gzip or Zstandard if the client sends `Accept-Encoding`; files of exports
are not compressed, because `Content-Length` has their size.

## Sources

The data come from the registers, under their licences. Whoever shows them must show these attributions{sources}.

{attributions}

## Language models

{models}`/llms.txt` says all of this in plain text.

## Versions

`/api/v1` only grows: new paths, optional parameters, keys of answers,
values of enums, codes of errors. So ignore keys that you do not know. Anything that will be removed is
announced at least 180 days ahead: by `Deprecation` (RFC 9745) and `Sunset` (RFC 8594) on its
answers, and by `deprecated` here. It is removed only in `/api/v2`.
"""


# The parts of the description that depend on the operations of the product.
_SOURCES: Final = ";\n`/api/v1/sources` says which registers are in the data served, with the dates of their files"
_MODELS: Final = """\
Language models use the same companies, plans and counters through tools: `POST /api/mcp`, the
Model Context Protocol, which describes itself. """


def description(product: Product, plans: Mapping[str, Plan], debit: BurstLimits) -> str:
    """The description of the complete API, in Markdown."""
    return _DESCRIPTION.format(
        plans=_plans(plans, debit),
        lists=debit.listes,
        tool=tool_prices(plans),
        pages=debit.pages,
        files=debit.fichiers,
        places=debit.simultanes,
        exports=debit.exports,
        abandoned=debit.exports_abandonnes,
        errors=_errors(),
        sources=_SOURCES if product.operation("listSources") else "",
        attributions=_attributions(),
        models=_MODELS if product.operation("callTool") else "",
    )


def _plans(plans: Mapping[str, Plan], debit: BurstLimits) -> str:
    """The table of the plans, in Markdown."""
    heading = (
        "| Plan | Companies a search | Companies a call | Calls a day | Calls a minute "
        "| Exports a month | Contacts | Statements | Credits a month |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
    )
    return heading + "\n".join(
        f"| {plan.nom_en} (`{plan.slug}`) | {plan.resultats_par_recherche} "
        f"| {plan.lignes_par_appel} | {_calls_a_day(plan, debit)} | {getattr(debit, plan.slug)} "
        f"| {plan.exports_par_mois} x {plan.lignes_par_export} | {_yes_or_no(plan.coordonnees)} "
        f"| {_yes_or_no(plan.etats_financiers)} | {plan.credits_par_mois} |"
        for plan in plans.values()
    )


def tool_prices(plans: Mapping[str, Plan]) -> str:
    """The plans with keys that need the API tool, and its price (§8.1)."""
    return ", ".join(
        f"{plan.nom_en} (`{plan.slug}`, €{plan.outil_api_eur})"
        for plan in plans.values()
        if plan.outil_api_eur is not None
    )


def _attributions() -> str:
    """A line for each attribution required by a register, with its licence."""
    return "\n".join(
        f"- {source.attribution['en']}. {source.licence}: <{source.adresse}>"
        for source in seed_tables.attributions()
    )


def _calls_a_day(plan: Plan, debit: BurstLimits) -> str:
    """The daily calls of a plan; for visitors, the limit per address (A10, D7)."""
    return (
        f"{debit.visiteur_jour} an address"
        if is_visitor_plan(plan)
        else str(plan.appels_api_par_jour)
    )


def _errors() -> str:
    """The table of the error codes, in Markdown."""
    rows = (f"| {code.status} | `{name}` | {code.meaning.en} |" for name, code in CODES.items())
    return "| Status | Code | When |\n| --- | --- | --- |\n" + "\n".join(rows)


def _yes_or_no(right: bool) -> str:
    """A right of a plan as a cell of the table."""
    return "yes" if right else "no"
