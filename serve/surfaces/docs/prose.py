"""The sentences of the document: its description and that of an export. Pure.

Figures come from the plans and from the limits of the running server; none is written here.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from quota.plans import Plan
from serve.access.rights import apercu
from serve.config import BurstLimits
from serve.contract import files, seed_tables
from serve.contract.errors import CODES
from serve.contract.feature import Product
from serve.contract.files import ExportColumn

_PARQUET_TYPES: Final = {
    "integer": "INT64",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "texts": "LIST of STRING",
}


def _column_types(columns: Iterable[ExportColumn]) -> str:
    """The columns by their type in Parquet, but for those of text."""
    found = list(columns)
    named = {
        parquet: ", ".join(f"`{column.name}`" for column in found if column.type == kind)
        for kind, parquet in _PARQUET_TYPES.items()
    }
    return "; ".join(f"{parquet}: {names}" for parquet, names in named.items() if names)


EXPORT_FILE: Final = (
    "The file. `xlsx`: Intro, Périmètre, Par pays, Par secteur, Liste, Contacts, a sheet of statements "
    "a company, Méthodologie, Journal. Tables have a column per key of `Societe`, in its order, or those "
    "of `colonnes`, whatever the plan; contacts are empty without the right to them. With `comptes=1`, a "
    "`.zip` of `societes`, of `comptes`, whose columns are those of `LigneComptesExportee`, and of "
    "`licences.json`, the attributions of the sources, which are the comment of the archive too. Without an "
    "archive, the header `Link` leads to them. `csv`: RFC 4180 "
    "with a line of names, UTF-8 with a byte order mark; lists with `|` between their texts; a text that "
    "begins with `=`, `+`, `-`, `@`, tab or line break, after apostrophes and quotes or none, gets one more "
    "apostrophe in front, and so does what begins so behind a semicolon, tab or line break in a text: no "
    "spreadsheet takes it for a formula. `ndjson`: the objects of the API, one a line. "
    "`parquet`: zstd, with the attributions of the sources in the metadata (`licences`); "
    f"{_column_types(files.company_columns().values())}; of `comptes`, "
    f"{_column_types(files.STATEMENT_COLUMNS)}; all others are STRING."
)
TAGS: Final = {
    "Companies": "Search, read and export companies.",
    "Lists": "What may be sent for countries, sectors and sub-sectors, with counts.",
    "Account": "What a key may do, and has done.",
    "Documents": "The description of the service.",
    "Service": "For the operator of the service.",
}

_DESCRIPTION: Final = """\
European companies as their registers publish them: searched by country, sector, activity, town, legal
form, state, age, name, turnover, assets and headcount, with an exact total for every search.
Read-only; texts and labels of the data are French.

## Keys and plans

`Authorization: Bearer <key>` identifies an organisation (account area, "API keys"). Without it a
call is a visitor's: a preview of two companies, no statements, no export. A key that is not valid
is answered with 401 and what a visitor gets. Fields and formats are the same on every plan.

{plans}

Keys of some plans need the API tool, an option for a year, excl. VAT: {tool}.
Without it they are served like those of the free plan; `plan_souscrit` and `outil_api` say so.

Calls are counted by the UTC day, exports and credits by the UTC month. Calls a minute are those of
an organisation, whatever the number of its keys; a visitor's are those of an address (of IPv6: a
/64). Further limits, with a key or without: from one address {lists} calls of public lists a minute,
{pages} pages, {files} documents and whatever else is no call; and {exports} exports at once of one
organisation, which may leave {abandoned} in an hour before they are made: each further one counts.
Without a key, {places} requests of an address are answered at the same time. `X-Quota-*`, `RateLimit` and
`X-Credits-*` tell what is left. Only an answer with 200, 402 or 404 `societe_introuvable` is counted.

## Values

Blanks around a value and empty values do not matter. Codes of countries, slugs of sectors and `ids` may
be in any case; other values (`etat`, `tri`, `format`, `lang`, `par`, `colonnes`) are written as they are
listed. A list may also be sent as a repeated parameter. Anything unknown is an error that names it.

## Errors

`{{"erreur": {{"code", "message"}}}}`, with further keys beside it. The message is French or, with
`Accept-Language: en`, English. Codes never change; new ones may come.

{errors}

## HTTP

A path that answers GET answers HEAD alike, without a body and without credits (not the export):
it is refused where GET would be, and charges nothing; every path answers OPTIONS with 204, unknown ones too. Other
methods are 405, unknown paths 404. Below `/api/v1` and here every origin may read the answers
(CORS). `ETag` with `If-None-Match` gives 304, which is free. Lists may be kept for five minutes.
`X-Donnees-Version` names the data, which change with a build, usually nightly. An answer to GET of
more than 1 kB is compressed with gzip or Zstandard for who sends `Accept-Encoding`; files of exports
are sent as they are, since `Content-Length` says their size.

## Sources

The data are those of the registers, under their licences. Who shows them owes these attributions{sources}.

{attributions}

## Programs that talk

{models}`/llms.txt` says all of this in plain text.

## Versions

What is under `/api/v1` only grows: new paths, parameters that need not be sent, keys of answers,
values of enums, codes of errors. So ignore keys you do not know. Anything that will be removed is
announced at least 180 days ahead: by `Deprecation` (RFC 9745) and `Sunset` (RFC 8594) on its
answers, and by `deprecated` here. It is removed only in `/api/v2`.
"""


_SOURCES: Final = ";\n`/api/v1/sources` says which registers are in the data served, with the dates of their files"
_MODELS: Final = """\
Language models use the same companies, plans and counters through tools: `POST /api/mcp`, the
Model Context Protocol, which describes itself. """


def description(product: Product, plans: Mapping[str, Plan], debit: BurstLimits) -> str:
    """The description of the whole API, in Markdown."""
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
    head = (
        "| Plan | Companies a search | Companies a call | Calls a day | Calls a minute "
        "| Exports a month | Contacts | Statements | Credits a month |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
    )
    return head + "\n".join(
        f"| {plan.nom_en} (`{plan.slug}`) | {plan.resultats_par_recherche} "
        f"| {plan.lignes_par_appel} | {_calls_a_day(plan, debit)} | {getattr(debit, plan.slug)} "
        f"| {plan.exports_par_mois} x {plan.lignes_par_export} | {_yes_or_no(plan.coordonnees)} "
        f"| {_yes_or_no(plan.etats_financiers)} | {plan.credits_par_mois} |"
        for plan in plans.values()
    )


def tool_prices(plans: Mapping[str, Plan]) -> str:
    """The plans whose keys need the API tool, with its price (§8.1)."""
    return ", ".join(
        f"{plan.nom_en} (`{plan.slug}`, €{plan.outil_api_eur})"
        for plan in plans.values()
        if plan.outil_api_eur is not None
    )


def _attributions() -> str:
    """A line for each attribution that a register demands, with its licence."""
    return "\n".join(
        f"- {one.attribution['en']}. {one.licence}: <{one.adresse}>"
        for one in seed_tables.attributions()
    )


def _calls_a_day(plan: Plan, debit: BurstLimits) -> str:
    """The daily calls of a plan; a visitor's are limited by address instead (A10, D7)."""
    return f"{debit.visiteur_jour} an address" if apercu(plan) else str(plan.appels_api_par_jour)


def _errors() -> str:
    rows = (f"| {code.status} | `{name}` | {code.meaning.en} |" for name, code in CODES.items())
    return "| Status | Code | When |\n| --- | --- | --- |\n" + "\n".join(rows)


def _yes_or_no(right: bool) -> str:
    return "yes" if right else "no"
