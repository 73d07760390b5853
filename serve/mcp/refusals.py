"""What a model is told when a call is refused: what was wrong, in English, and what to do about it.

The errors are those of the routes; their messages name the values and stay French, like the data.
What a caller sent is shown in part only, so that an answer stays small.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import orjson

from quota import plans
from serve import meters
from serve.codes import CODES
from serve.errors import ApiError

_MOST_VALUES: Final = 10  # values of a list
_LONGEST: Final = 200  # characters of a value
_MESSAGE: Final = 1_500  # characters of a message, which has such values in it

# By code, in the words of the tools.
_REMEDIES: Final[Mapping[str, str]] = {
    "pays_inconnu": "Call list_countries for the codes.",
    "secteur_inconnu": "Call list_sectors for the slugs of sectors, list_subsectors for the labels "
    "of the sub-sectors of a sector.",
    "identifiant_invalide": "Take `id` as search_companies gives it.",
    "societe_introuvable": "Find it with search_companies: q takes a part of the name, or the "
    "first characters of the identifier.",
    "cle_invalide": "Tell the user to correct the key in the Authorization header of this MCP "
    "server's configuration, or to remove the header. What a visitor sees is below.",
    "credits_epuises": "Without etats_financiers the same company costs no credits.",
    "quota_api": "explain_plan tells when the counters begin again.",
    "trop_de_requetes": "Wait, then call again.",
}


def text(error: ApiError) -> str:
    """An error in a few lines: its meaning and remedy, its message, and what stands beside it."""
    first = f"{error.code}: {CODES[error.code].meaning}. {_remedy(error)}".strip()
    beside = {name: _short(value) for name, value in error.extra.items()}
    lines = [first, _cut(error.message, _MESSAGE)]
    return "\n".join(lines + ([orjson.dumps(beside).decode()] if beside else []))


@cache
def _tomorrow() -> str:
    """What a visitor can do whose address has had its calls of the day (D7)."""
    free = plans.load()["free"]
    return (
        "Without a key there are no more until midnight UTC. A key has calls of its own: "
        f"{free.appels_api_par_jour} a day on the free plan, {free.nom_en} (`{free.slug}`)."
    )


def _remedy(error: ApiError) -> str:
    if error.code == "trop_de_requetes" and meters.is_of_day(error.headers):
        return _tomorrow()
    allowed = error.extra.get("parametres_admis")
    if allowed is None:
        return _REMEDIES.get(error.code, "")
    if not allowed:
        return "No arguments are expected: call the tool again with {}."
    return f"Call it again with these only: {', '.join(allowed)}."


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_cut(str(name)): _short(part) for name, part in list(value.items())[:_MOST_VALUES]}
    if isinstance(value, (list, tuple)):
        return [_short(part) for part in value[:_MOST_VALUES]]
    return _cut(value) if isinstance(value, str) else value


def _cut(text: str, longest: int = _LONGEST) -> str:
    return f"{text[:longest]}…" if len(text) > longest else text
