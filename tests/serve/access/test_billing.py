"""`access/billing.py` is the only module that counts."""

import re
from pathlib import Path

SERVE = Path(__file__).parents[3] / "serve"
# A call of an operation of the quota store that counts or charges.
COUNTS = re.compile(r"store\.(take|take_and_charge|give_back|reserve|commit|release)\(")


def test_only_billing_counts_calls_credits_and_exports() -> None:
    modules = {
        path.relative_to(SERVE).as_posix()
        for path in SERVE.rglob("*.py")
        if COUNTS.search(path.read_text(encoding="utf-8"))
    }

    assert modules == {"access/billing.py"}
