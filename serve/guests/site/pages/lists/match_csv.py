"""The verdicts on a list as a CSV file: the columns of the list as they were, then those of the company found.

RFC 4180 in UTF-8 with a mark, with the separator of the list. A cell that a spreadsheet would compute begins with an
apostrophe. Pure.
"""

import re
from collections.abc import Sequence
from typing import Final

from serve.contract.objects.matching import LigneRapprochee, LigneRefusee
from serve.guests.files.tables import csv_table
from serve.guests.site.pages.lists.csv_files import list_file
from serve.guests.site.pages.lists.csv_files.list_file import ListFile

# Names of the wire, for programs; those of the company are apart from the columns of the list.
COLUMNS: Final = (
    "verdict", "note", "societe_iso2", "societe_id", "societe_nom", "societe_ville",
    "societe_code_postal", "societe_etat", "raisons", "autres_candidats", "erreur",
)  # fmt: skip
_FIELDS: Final = ("note", "iso2", "id", "nom", "ville", "code_postal", "etat")
_NUMBER: Final = re.compile(r"[+-]?[\d ., ()]*")


def write(
    table: ListFile, results: Sequence[LigneRapprochee | LigneRefusee], *, heading: bool = True
) -> bytes:
    """The file.

    Args:
        results: as `POST /api/v1/rapprochement` gives them, in the order of the rows.
        heading: with the names of the columns, and the mark; a further piece of one file has neither.
    """
    headings = [*table.headings, *COLUMNS]
    width = len(table.headings)
    separator = table.separator or ";"
    rows = []
    for row, result in zip(table.rows, results, strict=True):
        given = [*row, *[""] * (width - len(row))]
        # A row with more cells than columns has an error; its last column holds what is left over.
        given[width - 1 :] = [" ".join(given[width - 1 :])]
        rows.append([_guard(cell, separator) for cell in (*given, *_candidate_cells(result))])
    text = list_file.write([_guard(cell, separator) for cell in headings], rows, separator)
    if heading:
        return b"\xef\xbb\xbf" + text.encode()
    _, _, rest = text.partition("\r\n")
    return rest.encode()


def _candidate_cells(result: LigneRapprochee | LigneRefusee) -> tuple[str, ...]:
    if isinstance(result, LigneRefusee):
        return (*[""] * (len(COLUMNS) - 1), result.erreur.message)
    verdict, candidates = result.verdict, result.candidats
    # A company that may not be the one is named, but not put into the columns that programs read.
    best = candidates[0] if candidates and verdict in ("sur", "probable") else None
    others = candidates[1:] if best else candidates
    values = [_text(getattr(best, name)) if best else "" for name in _FIELDS]
    reasons = " ; ".join(best.raisons) if best else ""
    named = (f"{one.iso2}:{one.id} {one.nom} ({one.note:.2f})" for one in others)
    return (verdict, *values, reasons, " ; ".join(named), "")


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _guard(cell: str, separator: str) -> str:
    """The cell, guarded as those of an export; a number is left as it is.

    >>> [_guard(cell, ";") for cell in ("=1+1", "+33 1 23", "-5,2", "@ABC", "x,=1")]
    ["'=1+1", '+33 1 23', '-5,2', "'@ABC", "x,'=1"]
    """
    return cell if _NUMBER.fullmatch(cell) else csv_table.guard_formula(cell, separator)
