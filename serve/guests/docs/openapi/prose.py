"""The sentences of the document: the summary of each operation, and the description of all. Pure.

Figures come from the plans and from the limits of the running server; none is written here.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from quota.plans import Plan
from serve.access.rights import apercu
from serve.api.matching.rapprochement import LINES_PER_CALL, VISITOR_LINES
from serve.config import BurstLimits
from serve.contract import export_tables, seed_tables
from serve.contract.error_codes import CODES
from serve.contract.export_tables import ExportColumn
from serve.contract.prices import priced
from serve.request.line_list import MOST_LINES

OperationText = tuple[str, str]  # summary, description

PAYS: Final[OperationText] = (
    "List the countries",
    "The countries (pays) with the number of companies of each. Public: a key changes nothing.",
)
SECTEURS: Final[OperationText] = (
    "List the sectors",
    "The sectors (secteurs) with the number of companies of each in the scope, also those without "
    "one. Public: a key changes nothing.",
)
SOUS_SECTEURS: Final[OperationText] = (
    "List the sub-sectors of sectors",
    "The sub-sectors (sous-secteurs) that have a company in the scope, with their numbers. Public: "
    "a key changes nothing.",
)
SOURCES: Final[OperationText] = (
    "List the sources of the data",
    "By country: registers with licence and attribution, the files that were read with their dates, "
    "when they were imported, companies, and the share of companies that have each field. Countries "
    "without data say so. Public: a key changes nothing.",
)
SUGGESTIONS: Final[OperationText] = (
    "Complete a text",
    "Companies (sociétés), words of names (mots) and sectors (secteurs) that complete `q`. Companies "
    "have every word of `q` but the last in a name, and a word that begins with the last one: those "
    "whose name begins with `q` first, then by completeness. Words complete the last word; `n` is "
    "the exact number of companies that have it. Free; without a key two companies are shown.",
)
SOCIETES: Final[OperationText] = (
    "Search companies",
    "Companies (sociétés) that match, in the order of `tri`, with the exact `total`. Costs a call "
    "of the day and no credits; without a key two companies are shown. The plan's cap "
    "(`plafond_resultats`) is one on the pages of this search: for all of its companies there is the "
    "export, not a series of narrower searches. With a key that is not "
    "valid the status is 401 and the body that of a visitor, with `erreur` beside it.",
)
SOCIETE: Final[OperationText] = (
    "Read a company",
    priced(
        "The record (fiche) of a company, with its financial statements (comptes) for a caller with a "
        "key. A record costs a call of the day; one with statements also costs {prix.fiche} credits, once a calendar "
        "month for the same company, and without credits the status is 402 and the public identity is "
        "served. A company without statements costs no credits and has `comptes` empty."
    ),
)
MODIFICATIONS: Final[OperationText] = (
    "List what changed",
    "Companies that are gone, new or changed since the generation `depuis`, with the names of the "
    "fields that differ. Costs a call of the day and no credits. One step is told at a time: go on "
    "with `depuis` = `jusque` until that is `generation`.",
)
ANALYSE_ENTREPRISE: Final[OperationText] = (
    "Analyse a company",
    priced(
        "Ratios of up to five years with their formulas, each beside the quantiles of the company's "
        "sector and its rank there (all countries where fewer than 30 companies have the ratio); ranks "
        "by turnover; warnings; the parts of the score. A figure that cannot be computed is null, with "
        "the reason. Module `entreprise`: {prix.entreprise} credits, once a calendar month for the same company; plans "
        "without modules may try some analyses a month. A company without statements costs a call alone."
    ),
)
ANALYSE_MARCHE: Final[OperationText] = (
    "Analyse a market",
    priced(
        "All companies of a search, exactly: sum and quantiles of turnover, concentration (HHI, CR4, CR10, Gini), "
        "bands of turnover and headcount, births by year (deaths are null: no data have their dates), growth, the "
        "quartiles of each ratio by country (each company by its own last year, if that is one of the last three), "
        "the ten first companies. Takes every filter of a search. Module `marche`: {prix.marche} credits, once a "
        "calendar month for the same filters; plans without modules may try some analyses a month. A search that "
        "finds nothing costs a call alone."
    ),
)
COMPARABLES: Final[OperationText] = (
    "Find comparable companies",
    "The companies of the same sector and sub-sector that are nearest in turnover, headcount and place. Those "
    "with a turnover come first. "
    "`distance` is the sum of three gaps: the difference of ln(1 + euros), that of ln(1 + persons), and the "
    "place (0 in the same town, 0.25 where the postcodes begin with the same two characters, else 0.5). A "
    "gap is null where one of the two has no figure, and counts 3, or 0 where neither has. Companies of the "
    "country come first; those of other countries follow where there are too few. Equal distances: by country, "
    "greater turnover, identifier. Ceased companies are left out. Costs a call of the day and no credits; rows as "
    "the plan shows.",
)
GROUPE: Final[OperationText] = (
    "Read the group of a company",
    "Who consolidates the company, link by link up to the top (`parents`), its ultimate parent (`tete`), and the "
    "companies that it consolidates itself (`enfants`, at most 100 and as many as the plan shows of a search; the "
    "totals are exact). Links that have ended stand apart (`anciens_liens`). The links are those of the LEI data, "
    "level 2 (GLEIF): parents and children are LEI, with the company where it is one of those served. `parents` and "
    "`enfants` are null where nothing is known. Costs a call of the day and no credits.",
)
IDENTIFIANTS: Final[OperationText] = (
    "Look a number up",
    "The companies with a number: national identifier in any spelling (zeros lost, `GB` in front), "
    "VAT number, SIRET or LEI. As many as the plan shows of a search. Costs a call of the day and "
    "no credits. A 404 names the nearest identifiers.",
)
REPARTITION: Final[OperationText] = (
    "Count companies by dimension",
    "The companies of a search counted by one or more dimensions (`par`), exactly and whatever the plan: "
    "descending by `n`, those without a value last (`valeur` null). The entries of a dimension and its "
    "`autres` add up to `total`. Bands of turnover include their lower bound and not the upper one; of "
    "headcount both; a company without a number of persons counts in the band that its register publishes. "
    "A town is counted by its name without case and accents, and shown in its most frequent spelling. Costs a "
    "call of the day and no credits.",
)
WATCH: Final[OperationText] = (
    "Watch companies or a search",
    "What happened since the generation `depuis` to `ids`, up to 1,000 companies as "
    "`country:identifier`, or to the companies that `recherche` finds: who is found now and was "
    "not (`entree`), who was and is not (`sortie`), who changed, with the values before and after. "
    "All steps up to the generation served count as one. A page costs a call of the day and no "
    "credits; the next page takes `suivant` as `curseur`, beside the same body. One's own "
    "companies are not capped by the plan. A change of `score`, `date_source`, `forme_fr` or `statut_fr` "
    "alone is none.",
)
EXPORT: Final[OperationText] = (
    "Export companies to a file",
    "A search as an Excel workbook (figures, list, contacts where the plan has them, statements), or as a table for "
    "programs: `csv`, `ndjson`, `parquet`, chosen by `format` or `Accept`. "
    "Costs one of the month's exports when it is complete; nothing found or failed costs nothing.",
)
EXPORT_POST: Final[OperationText] = (
    "Export companies to a file, with parameters in a JSON body",
    f"{EXPORT[1]} The parameters are those of GET, as members of a JSON object.",
)
_PARQUET_TYPES: Final = {
    "integer": "INT64",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "texts": "LIST of STRING",
}


def _typed(columns: Iterable[ExportColumn]) -> str:
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
    f"{_typed(export_tables.company_columns().values())}; of `comptes`, "
    f"{_typed(export_tables.STATEMENT_COLUMNS)}; all others are STRING."
)
RAPPROCHEMENT: Final[OperationText] = (
    "Match a list",
    "Which companies do lines of names, towns and half-remembered numbers mean? Sees through legal forms, "
    "`&`, accents, order and spacing of words, typing errors, abbreviations, lost zeros and prefixes of "
    f"identifiers. At most {MOST_LINES:,} lines and 1 MiB; one call of the day for each {LINES_PER_CALL} lines "
    f"begun, no credits; without a key, {VISITOR_LINES} lines. A line that cannot be matched is answered in its "
    "place with an error (`ligne_invalide`) and costs nothing.",
)
_OF_SERVICE: Final = (
    "Part of the Reconciliation Service API 0.2 of the W3C community group, as OpenRefine speaks it: `/rapprochement` "
    "for its clients."
)
RECONCILIATION: Final[OperationText] = (
    "Reconcile a list",
    f"{_OF_SERVICE} Without parameters the manifest; with `queries` the candidates of each; with `extend` values of "
    "fields. Without an account two companies are answered.",
)
RECONCILIATION_POST: Final[OperationText] = (
    "Reconcile a list by a form",
    f"{_OF_SERVICE} The parameters are those of GET, as a form.",
)
RECONCILIATION_FIELDS: Final[OperationText] = ("Propose fields", f"{_OF_SERVICE} Free.")
RECONCILIATION_SUGGESTIONS: Final[OperationText] = (
    "Suggest companies, fields or the type",
    f"{_OF_SERVICE} Free; companies as many as the plan shows.",
)
RECONCILIATION_PREVIEW: Final[OperationText] = (
    "Preview a company",
    f"{_OF_SERVICE} A few lines without contacts, which may stand in a frame.",
)
RECONCILIATION_VIEW: Final[OperationText] = ("View a company", f"{_OF_SERVICE} Leads to its page.")
COMPTE: Final[OperationText] = (
    "Read the account behind the key",
    "Plan, limits, counters, credits and keys of the organisation. Free and not metered.",
)
OPENAPI: Final[OperationText] = ("This description", "OpenAPI 3.1 of the whole service.")
DOCS_MARKDOWN: Final[OperationText] = (
    "This description in Markdown",
    "Plans, errors, parameters, operations and tools; `/docs` too, with `Accept: text/markdown`.",
)
LLMS: Final[OperationText] = ("The service in plain words", "For programs that read: llmstxt.org.")
LLMS_FULL: Final[OperationText] = ("All of it in plain words", "The text of `/docs.md`.")
DOCS_FILE: Final[OperationText] = (
    "A file of the documentation",
    "The page that tries calls (`essai`), its scripts and styles.",
)
HEALTHZ: Final[OperationText] = ("Is the process alive?", "For whoever supervises the process.")
READYZ: Final[OperationText] = (
    "Can the process answer?", "503 while no data are loaded. For load balancers."
)  # fmt: skip
METRICS: Final[OperationText] = ("Figures of the process", "For Prometheus.")

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

Calls are counted by the UTC day, exports and credits by the UTC month. Calls a minute are those of
an organisation, whatever the number of its keys; a visitor's are those of an address (of IPv6: a
/64). Further limits: {lists} calls of public lists a minute from one address, with a key or
without, and {exports} exports at once of one organisation. `X-Quota-*`, `RateLimit` and
`X-Credits-*` tell what is left. A call that is answered with 304, 400, 401, 403, 405, 409, 429 or
5xx costs nothing.

## Values

Blanks around a value and empty values do not matter; codes and slugs may be in any case. A list may
also be sent as a repeated parameter. Anything unknown is an error that names it.

## Errors

`{{"erreur": {{"code", "message"}}}}`, with further keys beside it. The message is French or, with
`Accept-Language: en`, English. Codes never change; new ones may come.

{errors}

## HTTP

Every path answers HEAD like GET, without a body and without credits (not the export), so that a
HEAD of a record is never 402; and OPTIONS with 204, unknown paths too. Other methods are 405, unknown
paths 404. Below `/api/v1` and here every origin may read the answers (CORS). `ETag` with `If-None-Match` gives 304,
which is free. Lists may be kept for five minutes. `X-Donnees-Version` names the data, which change
with a build, usually nightly. An answer to GET of more than 1 kB is compressed with gzip or
Zstandard for who sends `Accept-Encoding`.

## Sources

The data are those of the registers, under their licences. Who shows them owes these attributions;
`/api/v1/sources` says which registers are in the data served, with the dates of their files.

{attributions}

## Programs that talk

Language models use the same companies, plans and counters through tools: `POST /api/mcp`, the
Model Context Protocol, which describes itself. `/llms.txt` says all of this in plain text.

## Versions

What is under `/api/v1` only grows: new paths, parameters that need not be sent, keys of answers,
values of enums, codes of errors. So ignore keys you do not know. Anything that will be removed is
announced at least 180 days ahead: by `Deprecation` (RFC 9745) and `Sunset` (RFC 8594) on its
answers, and by `deprecated` here. It is removed only in `/api/v2`.
"""


def description(plans: Mapping[str, Plan], debit: BurstLimits) -> str:
    """The description of the whole API, in Markdown."""
    return _DESCRIPTION.format(
        plans=_plans(plans, debit),
        lists=debit.listes,
        exports=debit.exports,
        errors=_errors(),
        attributions=_attributions(),
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
        f"| {plan.exports_par_mois} x {plan.lignes_par_export} | {_yes(plan.coordonnees)} "
        f"| {_yes(plan.etats_financiers)} | {plan.credits_par_mois} |"
        for plan in plans.values()
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


def _yes(right: bool) -> str:
    return "yes" if right else "no"
