"""Plans with limits that a test can reach, and moments at the edges of days and months."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from quota.plans import Plan, load

# The plans with low limits: calls a day, exports a month, credits a month, active keys.
SMALL: Final[Mapping[str, Plan]] = {
    slug: replace(
        plan,
        appels_api_par_jour=calls,
        exports_par_mois=exports,
        credits_par_mois=grant,
        cles_actives=keys,
    )
    for (slug, plan), (calls, exports, grant, keys) in zip(
        load().items(),
        [(0, 0, 0, 0), (2, 1, 7, 1), (3, 2, 12, 2), (5, 3, 25, 3), (4, 2, 15, 3), (6, 4, 40, 4),
         (3, 2, 12, 2)],
        strict=True,
    )
}  # fmt: skip

PLANS: Final = load()  # the plans with their real limits

NOON: Final = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

MOMENTS: Final = [
    NOON,
    datetime(2026, 11, 30, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2026, 12, 1, tzinfo=UTC),
    datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC),
    datetime(2027, 1, 1, tzinfo=UTC),
    datetime(2027, 2, 28, 23, 59, 59, tzinfo=UTC),
    datetime(2027, 3, 1, tzinfo=UTC),
    datetime(2028, 2, 28, 23, 59, 59, tzinfo=UTC),
    datetime(2028, 2, 29, tzinfo=UTC),
    datetime(2028, 2, 29, 23, 59, 59, tzinfo=UTC),
    datetime(2028, 3, 1, tzinfo=UTC),
]
