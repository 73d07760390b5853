"""The error codes (§7, contract G7): HTTP status, keys beside `erreur` and meaning (tables/error_codes.csv).

`serve/contract/errors.py` has the messages and takes the status from here; /openapi.json documents the rest. Pure.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from serve.contract.tables import TABLES, read_rows
from serve.contract.text import Text


class Code(NamedTuple):
    """An error code. `extra`: keys that may stand beside `erreur` (G6); `meaning`: for documents."""

    status: int
    meaning: Text
    extra: tuple[str, ...] = ()


CODES: Final[Mapping[str, Code]] = MappingProxyType({
    row["code"]: Code(
        int(row["status"]), Text(row["fr"], row["en"]), tuple(row["extra"].split())
    )
    for row in read_rows(TABLES / "error_codes.csv")
})  # fmt: skip


def of_status(status: int) -> list[str]:
    """The codes with an HTTP status.

    >>> of_status(404)
    ['societe_introuvable', 'route_inconnue']
    """
    return [code for code, declared in CODES.items() if declared.status == status]
