"""Reconciliation addresses: `/api/v1/reconciliation/{jeton}`, for clients that send no header (extensions X5).

A token is made from a key of the account and signed with the secret of this STATE folder; nothing is stored. It opens
the reconciliation service alone, counts as the account, and ends with the key that it was made from.
"""

import re
from typing import Final, Protocol

from quota.accounts import Account, Key
from quota.errors import UnknownError
from quota.keys import ACCOUNT_ID, KEY_ID
from quota.store.interface import Store

# Its beginning is known to serve/observe/log.py, which never writes the rest.
PREFIX: Final = "soc_rec_"
_PURPOSE: Final = "reconciliation"
_SHAPE: Final = re.compile(rf"{PREFIX}([0-9A-Za-z]{{12}})([0-9A-Za-z]{{12}})([0-9A-Za-z_-]{{43}})")


class TokenSigner(Protocol):
    """Signs texts, and knows its signatures (serve/website/signing.py)."""

    def signature(self, purpose: str, text: str) -> str: ...

    def is_valid(self, signature: str, purpose: str, text: str) -> bool: ...


def token(signer: TokenSigner, key: Key) -> str:
    """The token of a key."""
    account, name = key.account.removeprefix(ACCOUNT_ID), key.id.removeprefix(KEY_ID)
    return f"{PREFIX}{account}{name}{signer.signature(_PURPOSE, f'{account} {name}')}"


async def account_of(signer: TokenSigner, store: Store, text: str) -> Account | None:
    """The account that a token stands for; None if it is no token, or its key is revoked.

    Raises:
        StoreUnavailable
    """
    match = _SHAPE.fullmatch(text)
    if match is None or not signer.is_valid(match[3], _PURPOSE, f"{match[1]} {match[2]}"):
        return None
    account, accounts = f"{ACCOUNT_ID}{match[1]}", store.accounts
    if accounts is None:
        return None  # an edge has no accounts
    try:
        keys = await store.keys_of(account)
        if not any(key.id == f"{KEY_ID}{match[2]}" and key.revoked is None for key in keys):
            return None
        return await accounts.get(account)
    except UnknownError:
        return None
