"""The caller of a request: the account behind a key, and the plan that applies.

No Authorization header means a visitor (A4). One header `Bearer <key>` whose key belongs to an
account means that account, at its effective plan (A7). Anything else is a refused key: the caller is
served as a visitor, with status 401 (A1), and a revoked key looks like one that never existed. All
later checks use the plan, never the header.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from quota.accounts import Account, effective_plan
from quota.plans import Plan
from serve.access.rights import VISITOR


class Caller(NamedTuple):
    """The effective plan of a request.

    Attributes:
        refused: the request had a key, which is not valid.
        account: None for visitors, and for anyone who is served as a visitor.
    """

    plan: Plan
    refused: bool = False
    account: Account | None = None

    @property
    def souscrit(self) -> str | None:
        """The plan that is paid for, where another plan applies (A7)."""
        if self.account is None or self.account.plan == self.plan.slug:
            return None
        return self.account.plan


async def identify(
    authorization: Sequence[str],
    plans: Mapping[str, Plan],
    find: Callable[[str], Awaitable[Account | None]],
) -> Caller:
    """The caller behind the Authorization headers of a request: none, one, or too many.

    Args:
        find: the account of a key; it is not called for text that cannot be a key.

    Raises:
        StoreUnavailable: from `find`.
    """
    if not authorization:
        return Caller(plans[VISITOR])
    key = token(authorization[0]) if len(authorization) == 1 else None
    account = await find(key) if key else None
    if account is None:
        return Caller(plans[VISITOR], refused=True)
    return Caller(effective_plan(account, plans), account=account)


def token(header: str) -> str | None:
    """The token of a bearer header (RFC 6750 §2.1), or None; the scheme ignores case.

    >>> token("bearer  abc"), token("Bearer"), token("Basic abc"), token("Bearer a b")
    ('abc', None, None, None)
    """
    words = header.split(" ")
    if len(words) != 2:  # several blanks count as one
        words = [word for word in words if word]
    if len(words) != 2 or words[0].lower() != "bearer":
        return None
    return words[1]
