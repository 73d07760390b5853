"""The purchase of a record or an analysis: the value that `take_and_charge` takes, from server to ledger."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Purchase:
    """One call, and a full record or an analysis, with the limits of the account's plan (D5, D9, X11).

    Attributes:
        account: the account that pays, such as "a_0000000000aA".
        call_limit: calls per day that the plan allows.
        company: the company as "ISO2/id", such as "EE/10000018"; of an analysis, its module and subject.
        cost: credits, due once per calendar month.
        grant: credits per month that the plan includes; packs are used after them.
        trials: None, or how many analyses a month the plan lets try at no credits (`cost` is 0).
    """

    account: str
    call_limit: int
    company: str
    cost: int
    grant: int
    trials: int | None = None
