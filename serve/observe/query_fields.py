"""The parameters of a request, as its line in the log has them (contract A5).

It is apart from `log`, which the parent of several workers imports too: that needs none of the contract.
"""

from typing import Final

from serve.contract.parameters import SEARCH
from serve.request.query_string import Pairs

_LONGEST: Final = 500  # characters of one logged value
# Those of a search and of its changes: their values are no data of the caller.
_KNOWN: Final = frozenset((*(one.name for one in SEARCH), "depuis", "nature", "curseur"))


def query_fields(pairs: Pairs) -> dict[str, list[str]]:
    """The parameters of a request for its log line: unknown ones without their values."""
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        values = fields.setdefault(name[:_LONGEST], [])
        if name in _KNOWN:
            values.append(value[:_LONGEST])
    return fields
