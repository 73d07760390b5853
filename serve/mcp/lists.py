"""The tools of the public lists: countries, sectors, sub-sectors. A key changes nothing (A2)."""

from typing import Any

import orjson

from serve import doors, lists
from serve.answer import Answer, Route
from serve.mcp import results, sizes
from serve.mcp.results import Result, Use


async def countries(use: Use) -> Result:
    answer, found = _listed(use, lists.pays)
    kept = ("iso2", "nom_fr", "nom_en", "n_societes")
    entries = [{name: one[name] for name in kept} for one in found["pays"]]
    return results.of_answer(answer, found, {"total": found["total"], "pays": entries})


async def sectors(use: Use) -> Result:
    answer, found = _listed(use, lists.secteurs)
    kept = ("slug", "secteur_en", "n_societes")
    entries = [{name: one[name] for name in kept} for one in found["secteurs"]]
    return results.of_answer(answer, found, {"total": found["total"], "secteurs": entries})


async def sub_sectors(use: Use) -> Result:
    answer, found = _listed(use, lists.sous_secteurs)

    def document(entries: list[Any]) -> dict[str, Any]:
        return {"total": found["total"], "sous_secteurs": entries}

    entries = sizes.most(found["sous_secteurs"], document)
    if len(entries) == len(found["sous_secteurs"]):
        return results.of_answer(answer, found, document(entries))
    note = f"Only the first {len(entries)} are shown; ask for fewer sectors at a time."
    return results.of_answer(answer, found, {**document(entries), "note": note})


def _listed(use: Use, route: Route) -> tuple[Answer, Any]:
    answer = doors.listed(use.site, route, use.call, use.trace)
    return answer, orjson.loads(answer.body)
