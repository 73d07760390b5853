"""The one ability that the books of a store need of it: to run functions of the ledger.

`account_book.py` and `ticket_book.py` name those functions; a store (`ledger_store.py`) runs them.
"""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

from quota.accounts import Account
from quota.ledger.account_rows import KeyKind
from quota.ledger.people import Person
from quota.ledger.row_format import ReadTransaction, WriteTransaction
from quota.store.future import StoreFuture, StoreResult

P = ParamSpec("P")
T = TypeVar("T")

# A function of the ledger: its first parameter is the transaction, the others are passed on.
Reading: TypeAlias = Callable[Concatenate[ReadTransaction, P], T]
Writing: TypeAlias = Callable[Concatenate[WriteTransaction, P], T]


class Transactions(Protocol):
    """Runs functions of the ledger, each in a transaction."""

    def read(
        self, operation: Reading[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreResult[T]: ...

    def submit(
        self, operation: Writing[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]: ...

    def add_key_calls(self, calls: Mapping[bytes, int], day: date) -> StoreFuture[None]: ...

    def identify_by(self, digest: bytes, kind: KeyKind) -> StoreResult[Account | None]: ...

    def session(
        self, person: str, token: bytes, now: int
    ) -> StoreResult[tuple[Person, Account] | None]: ...
