"""The tool that reads one company, with its financial statements if they are asked for.

Without them it is what a search shows of the company, at the price of a search: a call, and no
credits. With them it is the record of §4.5 and costs what that costs. Whether there are any is
looked up first, for a model cannot know and must not pay to be told that there are none (contract,
preamble d).
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import orjson

from serve.access import admission
from serve.access.result import PreparedCall, Request, Response
from serve.api.societe import exercices, identite, societe
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.data.open_generation import OpenGeneration
from serve.mcp import results, sizes
from serve.mcp.arguments import STATEMENTS, YEAR
from serve.mcp.results import Result, Use
from serve.request import scalars
from serve.request.params import Pairs

_ALL: Final = "GET /api/v1/societes/{iso2}/{id} with the same key has every line, free this month."
_LEFT_OUT: Final = (
    "Not all years fit into one answer: call again with exercice, one year at a time. A company "
    "that was paid for is free until the end of the month."
)
_KEYED: Final = "No statements: they are for callers with a key, from the free plan on."
_PAID: Final = "No statements: they cost credits, and none are left."
_NO_CREDITS: Final = 402


class _Wanted(NamedTuple):
    """Are statements wanted, and of which `year` alone?"""

    statements: bool = False
    year: int | None = None


async def read(use: Use) -> Result:
    """One company."""
    known = await admission.caller(use.site, use.authorization, use.trace)
    wanted = _Wanted()

    def prepare(ask: Request, edition: OpenGeneration) -> PreparedCall:
        nonlocal wanted
        wanted = _wanted(ask.pairs)
        place = (results.first(ask.pairs, "iso2"), results.first(ask.pairs, "id"))
        return _work(ask._replace(segments=place, pairs=()), edition, wanted)

    answer = await admission.worked(use.site, prepare, use.call, known, use.trace)
    found = orjson.loads(answer.body)
    shown = _document(found, answer, wanted) if "societe" in found else None
    return results.of_answer(answer, found, shown)


def _wanted(pairs: Pairs) -> _Wanted:
    values = {name: [text.strip()] for name, text in pairs}
    asked, year = scalars.flag(values, STATEMENTS), scalars.integer(values, YEAR)
    return _Wanted(asked or year is not None, year)


def _work(record: Request, edition: OpenGeneration, wanted: _Wanted) -> PreparedCall:
    """The record where it has what is wanted of it; without its statements where it has none."""
    if not wanted.statements:
        return identite(record, edition)
    if record.caller.plan.etats_financiers:
        years = exercices(record, edition)
        if not years:
            return identite(record, edition)
        if wanted.year not in (None, *years):
            raise _no_such_year(wanted.year, [str(year) for year in years])
    return societe(record, edition)


def _no_such_year(year: int | None, years: Sequence[str]) -> ApiError:
    why = f"pas de comptes de {year} ; il y en a de {', '.join(years)}"
    return errors.parametre_invalide(YEAR.name, why, valeurs=years)


def _document(found: Mapping[str, Any], answer: Response, wanted: _Wanted) -> dict[str, Any]:
    shown = {"societe": sizes.known(found["societe"]), "plan": found["plan"]}
    for name, header in (("debites", "Debites"), ("restants", "Restants")):
        if (credits := answer.headers.get(f"X-Credits-{header}")) is not None:
            shown[f"credits_{name}"] = int(credits)
    if "comptes_message" in found:
        shown["note"] = _PAID if answer.status == _NO_CREDITS else _KEYED
        return shown
    if not wanted.statements:
        return shown
    comptes = found.get("comptes", [])
    lines = [line for line in comptes if wanted.year in (None, line["exercice"])]
    fitting = sizes.most(
        lines, lambda kept: {**shown, "comptes": _arranged(kept), "note": _LEFT_OUT}
    )
    shown["comptes"] = _arranged(fitting)
    if not lines:
        shown["note"] = "No statements of this company are published here."
    elif len(fitting) < len(lines):
        of_year = f"Not all lines fit into one answer. {_ALL}"
        shown["note"] = _LEFT_OUT if wanted.year is None else of_year
    return shown


def _arranged(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The lines by year and statement, in their order (E5): what they share is said once."""
    shared = groupby(lines, key=lambda line: (line["exercice"], line["etat"], line["devise"]))
    return [
        sizes.known({"exercice": exercice, "etat": etat, "devise": devise})
        | {"lignes": [_line(line) for line in kept]}
        for (exercice, etat, devise), kept in shared
    ]


def _line(line: Mapping[str, Any]) -> dict[str, Any]:
    return sizes.known({name: line[name] for name in ("code", "libelle", "valeur")})
