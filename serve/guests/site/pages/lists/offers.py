"""The candidates of a list that a page offers: signed, so that the one that a person ticks counts as matched (X19).

What is ticked comes back in a form, where anybody could write any company. So each candidate that its line does not
mean carries a signature for the account that it was offered to: `SIGNATURE DE:HRB 1` instead of `DE:HRB 1`.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from serve.access import own_matches
from serve.contract.objects.matching import Candidat
from serve.guests.site.page_request import PageRequest

_PURPOSE: Final = "candidate"
_SIGNED: Final = re.compile(r"([\w-]{43}) (.+)", re.ASCII | re.DOTALL)


def values(request: PageRequest) -> Callable[[Candidat, bool], str]:
    """What writes the value of a choice: a candidate, and whether its line means it."""

    def value(candidate: Candidat, is_meant: bool) -> str:
        company = f"{candidate.iso2}:{candidate.id}"
        if is_meant or request.session is None:
            return company
        return f"{request.context.signer.signature(_PURPOSE, _text(request, company))} {company}"

    return value


def company(value: str) -> str:
    """The company of a choice as an item of `ids`.

    >>> company("DE:HRB 1"), company("x" * 43 + " DE:HRB 1")
    ('DE:HRB 1', 'DE:HRB 1')
    """
    signed = _SIGNED.fullmatch(value)
    return signed[2] if signed else value


async def remember(request: PageRequest, chosen: Sequence[str]) -> None:
    """Remember the companies of choices that were offered to the account of the person."""
    if request.session is None:
        return
    offered = []
    for value in chosen:
        signed = _SIGNED.fullmatch(value)
        if signed and request.context.signer.is_valid(
            signed[1], _PURPOSE, _text(request, signed[2])
        ):
            iso2, _, identifier = signed[2].partition(":")
            offered.append((iso2, identifier))
    if offered:
        await own_matches.note(request.store, request.session.account.id, offered, request.trace)


def _text(request: PageRequest, company: str) -> str:
    assert request.session is not None
    return f"{request.session.account.id} {company}"
