"""The one ability that the books of a store need of it: to run functions of the ledger.

`account_book.py` and `ticket_book.py` name those functions; a store (`ledger_store.py`) runs them.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from quota.ledger.transaction import ReadTransaction, WriteTransaction
from quota.store.future import StoreFuture, StoreResult

T = TypeVar("T")


class Transactions(Protocol):
    """Runs functions of the ledger, each in a transaction."""

    def read(self, operation: Callable[[ReadTransaction], T], /) -> StoreResult[T]: ...

    def submit(self, operation: Callable[[WriteTransaction], T], /) -> StoreFuture[T]: ...
