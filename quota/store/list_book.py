"""Matched lists of a store; each method is a function of `ledger/lists.py` in one transaction.

This module adds the code of a list, which is random, and the clock's moment. A list without an account opens for
whoever has its code, of which the store has the SHA-256.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from quota.ledger import lists
from quota.ledger.lists import ListPart, ListRows, ListSize, MatchedList
from quota.store.future import StoreFuture, StoreResult, Transactions

# The mask of keys in the log knows it (serve/contract/secret_mask.py).
PREFIX: Final = "soc_liste_"
_CODE_BYTES: Final = 24


class ListBook:
    """The matched lists of a store."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def check_room(self, account: str, wanted: ListSize, now: datetime) -> StoreResult[None]:
        """Raise NotAllowedError if an account may not keep so much more."""
        return self._transactions.read(lists.check_room, account, wanted, int(now.timestamp()))

    def create(
        self, account: str, name: str, table: bytes, part: ListPart, now: datetime
    ) -> StoreFuture[str]:
        """Store a list of an account, or of a visitor (""); returns its code.

        The future raises NotAllowedError as `lists.create`.
        """
        code = PREFIX + secrets.token_urlsafe(_CODE_BYTES)
        created = int(now.timestamp())
        head = MatchedList(
            id=list_id(code),
            account=account,
            code=code if account else "",
            name=name[: lists.LONGEST_NAME],
            created=created,
            expires=created + lists.LASTS_S,
        )
        return self._transactions.submit(
            lambda txn: (lists.create(txn, head, table, part), code)[1]
        )

    def append(
        self, code: str, account: str, first: int, part: ListPart, now: datetime
    ) -> StoreFuture[MatchedList]:
        """Add lines to a list of an account, which begin at place `first`."""
        moment = int(now.timestamp())
        return self._transactions.submit(lists.append, list_id(code), account, first, part, moment)

    def find(self, code: str, now: datetime) -> StoreResult[ListRows | None]:
        """The list of this code, whoever may open it."""
        return self._transactions.read(lists.rows_of, list_id(code), int(now.timestamp()))

    def chunks(self, head: MatchedList, numbers: Sequence[int]) -> StoreResult[Mapping[int, bytes]]:
        """These chunks of lines of a list, by their number."""
        return self._transactions.read(lists.chunks_of, head.id, numbers)

    def of_account(self, account: str, now: datetime) -> StoreResult[Sequence[MatchedList]]:
        """The lists of an account, the newest first."""
        return self._transactions.read(lists.of_account, account, int(now.timestamp()))

    def choose(
        self, head: MatchedList, choices: Mapping[int, int], now: datetime
    ) -> StoreFuture[MatchedList]:
        """Choose candidates of lines by their place; `lists.NO_CHOICE` for none."""
        moment = int(now.timestamp())
        return self._transactions.submit(lists.choose, head.id, head.account, choices, moment)

    def rename(self, head: MatchedList, name: str, now: datetime) -> StoreFuture[MatchedList]:
        """Give a list another name."""
        moment = int(now.timestamp())
        return self._transactions.submit(lists.rename, head.id, head.account, name, moment)

    def delete(self, head: MatchedList, now: datetime) -> StoreFuture[None]:
        """Delete a list with all its rows."""
        return self._transactions.submit(lists.delete, head.id, head.account, int(now.timestamp()))


def list_id(code: str) -> str:
    """The name of the rows of a list, from which its code cannot be derived."""
    return hashlib.sha256(code.encode()).hexdigest()
