"""POST /rapprochement/societes: the companies that were chosen among the candidates, as a search or as a workbook.

A form without a script has a field `choix_n` for each line; one with a script the companies of all of them (`ids`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import quote, urlencode

from serve.access.call import Response
from serve.contract import errors
from serve.contract.parameters import MOST_IDS
from serve.guests.site import render
from serve.guests.site.page_request import PageRequest
from serve.guests.site.pages import export_form
from serve.guests.site.pages.lists import matching, offers

_CHOICE: Final = re.compile(r"choix_[1-9]\d{0,4}", re.ASCII)
_SEARCH, _WORKBOOK = "recherche", "xlsx"
_LONGEST: Final = 32_000  # characters of an address; half of what nginx.conf and the server take


async def use(request: PageRequest) -> Response:
    """The search for the chosen companies, or the workbook of them, which counts as an export.

    Raises:
        ApiError: 400: none was chosen; those of `export_form.download`.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    output = request.form.get("sortie", "")
    if output not in (_SEARCH, _WORKBOOK):
        known = f"{_SEARCH}, {_WORKBOOK}"
        raise errors.parametre_invalide(
            "sortie", errors.why("inconnu_admis", shown=repr(output[:50]), known=known)
        )
    chosen = _chosen_values(request.form)
    companies = list(dict.fromkeys(map(offers.company, chosen)))
    if not companies:
        raise errors.parametre_invalide("ids", errors.why("aucune_societe"))
    await offers.remember(request, chosen)
    taken = _cut_to_fit(companies)
    if len(taken) < len(companies) and not request.form.get("premieres"):
        return await matching.offer_part(request, output, taken, len(companies))
    search = urlencode({"ids": ",".join(taken)}, quote_via=quote, safe=",:")
    if output == _SEARCH:
        return render.see_other(f"/?{search}")
    if request.session is None:
        return render.see_other("/connexion?suite=/rapprochement")
    form = {"recherche": search, "format": _WORKBOOK, "comptes": "1"}
    return await export_form.download(replace(request, form=form))


def _chosen_values(form: Mapping[str, str]) -> Sequence[str]:
    """The values of what is chosen, in the order of the lines."""
    lines = [value for name, value in form.items() if _CHOICE.fullmatch(name)]
    return [one for one in (*form.get("ids", "").split(","), *lines) if one]


def _cut_to_fit(companies: Sequence[str]) -> Sequence[str]:
    """The first companies that one search may name and one address holds.

    >>> [len(_cut_to_fit(["FR:552100554"] * n)) for n in (3, 1_001)], len(_cut_to_fit(["FR:" + "é" * 64] * 999))
    ([3, 1000], 82)
    """
    room, taken = _LONGEST, []
    for company in companies[:MOST_IDS]:
        room -= len(quote(company, safe=":")) + 1
        if room < 0:
            break
        taken.append(company)
    return taken
