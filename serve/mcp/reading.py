"""The tool that reads one company, with its financial statements if they are asked for.

Without them it is what a search shows of the company, at the price of a search: a call, and no
credits. With them it is the record of §4.5 and costs what that costs.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import orjson

from serve import doors, errors, numbers
from serve.answer import Answer, Ask, Work
from serve.edition import Edition
from serve.mcp import results, sizes
from serve.mcp.results import Result, Use
from serve.societe import identite, societe

_ALL: Final = "GET /api/v1/societes/{iso2}/{id} with the same key has every line, free this month."
_LEFT_OUT: Final = (
    "Not all years fit into one answer: call again with exercice, one year at a time. A company "
    "that was paid for is free until the end of the month."
)


async def read(use: Use) -> Result:
    """One company."""
    known = await doors.caller(use.site, use.authorization, use.trace)
    year: int | None = None

    def prepare(ask: Ask, edition: Edition) -> Work:
        nonlocal year
        year = _year(results.first(ask.pairs, "exercice"))
        statements = year is not None or results.first(ask.pairs, "etats_financiers")
        place = (results.first(ask.pairs, "iso2"), results.first(ask.pairs, "id"))
        record = ask._replace(segments=place, pairs=())
        return societe(record, edition) if statements else identite(record, edition)

    answer = await doors.worked(use.site, prepare, use.call, known, use.trace)
    found = orjson.loads(answer.body)
    shown = _document(found, answer, year) if "societe" in found else None
    return results.of_answer(answer, found, shown)


def _document(found: Mapping[str, Any], answer: Answer, year: int | None) -> dict[str, Any]:
    shown = {"societe": sizes.known(found["societe"]), "plan": found["plan"]}
    for name, header in (("debites", "Debites"), ("restants", "Restants")):
        if (credits := answer.headers.get(f"X-Credits-{header}")) is not None:
            shown[f"credits_{name}"] = int(credits)
    if "comptes_message" in found:
        shown["note"] = "No statements: they are for callers with a key, from the free plan on."
    if "comptes" not in found:
        return shown
    wanted = [line for line in found["comptes"] if year in (None, line["exercice"])]
    fitting = sizes.most(
        wanted, lambda kept: {**shown, "comptes": _arranged(kept), "note": _LEFT_OUT}
    )
    shown["comptes"] = _arranged(fitting)
    if len(fitting) < len(wanted):
        shown["note"] = _LEFT_OUT if year is None else f"Not all lines fit into one answer. {_ALL}"
    elif not wanted:
        years = sorted({line["exercice"] for line in found["comptes"]}, reverse=True)
        shown["note"] = (
            f"No statements of {year}; there are those of {', '.join(map(str, years))}."
            if years
            else "No statements of this company are published here."
        )
    return shown


def _year(text: str) -> int | None:
    try:
        return numbers.integer(text) if text else None
    except ValueError as error:
        raise errors.parametre_invalide("exercice", str(error)) from error


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
