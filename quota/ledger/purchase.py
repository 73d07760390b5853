"""The purchase of a full record: the value that `take_and_charge` takes, from server to ledger."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Purchase:
    """One call and the full record of one company, with the limits of the account's plan (D5, D9).

    Attributes:
        account: the account that pays, such as "a_0000000000aA".
        call_limit: calls per day that the plan allows.
        company: the company as "ISO2/id", such as "EE/10000018".
        cost: credits of the record, due once per calendar month.
        grant: credits per month that the plan includes; packs are used after them.
    """

    account: str
    call_limit: int
    company: str
    cost: int
    grant: int
