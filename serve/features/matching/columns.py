"""The choices above a list: the fields `colonne_0`, `colonne_1`, … of a form, and `titres`. Pure.

They count where `colonnes` says that somebody chose.
"""

import re
from collections.abc import Mapping
from typing import Final

from serve.contract import errors
from serve.features.matching import line_list

# The key of a line is the number of its row.
FIELDS: Final = tuple(field for field in line_list.FIELDS if field != "cle")
_HEADED: Final = {"": None, "oui": True, "non": False}
_NAME: Final = re.compile(r"colonne_(0|[1-9]\d{0,2})", re.ASCII)


def chosen_fields(form: Mapping[str, str]) -> dict[int, str] | None:
    """The field of each column by its place, "" for none; None where nobody chose.

    Raises:
        ApiError: 400: a field that no line has.
    """
    if not form.get("colonnes"):
        return None
    fields: dict[int, str] = {}
    for name, value in form.items():
        place = _NAME.fullmatch(name)
        if place and value and value not in FIELDS:
            known, shown = ", ".join(FIELDS), repr(value[:50])
            why = errors.why("champ_inconnu_admis", shown=shown, known=known)
            raise errors.parametre_invalide(name, why)
        if place:
            fields[int(place[1])] = value
    return fields


def is_headed(form: Mapping[str, str]) -> bool | None:
    """Whether the first row of the list has headings; None where nobody chose.

    Raises:
        ApiError: 400: another word than `oui` and `non`.
    """
    given = form.get("titres", "") if form.get("colonnes") else ""
    if given not in _HEADED:
        raise errors.parametre_invalide(
            "titres", errors.why("inconnu_admis", shown=repr(given[:50]), known="oui, non")
        )
    return _HEADED[given]


def check(chosen: Mapping[int, str] | None) -> None:
    """Raise ApiError 400 if two columns are to be one field."""
    seen: dict[str, int] = {}
    for place, field in sorted((chosen or {}).items()):
        if field and (other := seen.setdefault(field, place)) != place:
            why = errors.why("colonne_double", field=field, other=other + 1)
            raise errors.parametre_invalide(f"colonne_{place}", why)
