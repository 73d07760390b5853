"""Who calls: the plan that a request is served with, and whether its key was refused.

No header means a visitor (A4). There are no keys yet, so every Authorization header is an invalid
one; it is served as a visitor too, with status 401 (A1). Everything after this file asks the plan
and never the header.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quota.plans import Plan
from serve.rights import VISITOR


@dataclass(frozen=True, slots=True)
class Caller:
    """The effective plan of a request; `refused`: it came with a key that is not valid."""

    plan: Plan
    refused: bool


def identify(authorization: Sequence[str], plans: Mapping[str, Plan]) -> Caller:
    """The caller behind the Authorization headers of a request: none, one, or too many."""
    return Caller(plans[VISITOR], refused=bool(authorization))
