"""A soak of seconds by `tests/proof/soak.py`, and the faults that it must report."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.proof import soak
from tests.proof.soak import SoakSample
from tests.world import company, publish

pytestmark = pytest.mark.slow

# An interval of a minute without a fault.
CALM = SoakSample(
    seconds=60.0, statuses=Counter({200: 100}), p50=2.0, p99=20.0, longest=50.0, private_mib=200.0, descriptors=150,
    threads=12, readers=2,
)  # fmt: skip


def test_a_short_soak_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R18"""
    monkeypatch.setattr(soak, "TIMEOUT_S", 180.0)  # an export has a low priority on a busy machine
    publish(tmp_path / "data", [company("EE", f"{i}", f"Õun Lab {i}") for i in range(600)])
    options = ["--minutes", "0.1", "--every", "2", "--rate", "40", "--workers", "2"]

    assert soak.main(["--data", str(tmp_path / "data"), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    # 6 seconds at 40 requests a second
    assert lines[-1] == "240 answers; nothing grew, none failed"
    # A busy machine may count all answers of an interval in the next one.
    assert sum(int(count) for count in re.findall(r" 200:(\d+)", "\n".join(lines))) == 240


@pytest.mark.parametrize(
    ("late_figures", "message"),
    [
        ({"private_mib": 213.0}, "private_mib grew from 200.0 to 213.0"),
        ({"descriptors": 155}, "descriptors grew"),
        ({"p50": 4.1}, "p50 grew"),
        ({"p99": 61.0}, "p99 grew"),
        ({"statuses": Counter({200: 99, 503: 1})}, "answers were 503"),
        ({"statuses": Counter({0: 1})}, "answers were missing"),
    ],
)
def test_growth_and_failed_answers_are_named(late_figures: dict[str, object], message: str) -> None:
    late = replace(CALM, **late_figures)  # type: ignore[arg-type]

    # The last two of six intervals are the last third.
    assert message in "; ".join(soak.faults([CALM] * 4 + [late] * 2))
    assert soak.faults([CALM] * 6) == []


def test_a_p99_over_the_goal_is_named() -> None:
    """R17: the first third of the run warms up"""
    cold, late = replace(CALM, p99=900.0), replace(CALM, p99=50.1)

    assert soak.faults([cold, CALM, CALM], 50.0) == []
    assert soak.faults([CALM, CALM, late], 50.0) == ["p99 was 50.1 ms after 60 s, 50 ms at most"]
    assert soak.faults([CALM, CALM, late]) == []


def test_an_interval_far_over_the_median_one_is_named() -> None:
    """R18: p99 may be twice the median interval's, in the first interval too"""
    cold, late = replace(CALM, seconds=1.0, p99=40.1), replace(CALM, seconds=360.0, p99=39.9)

    messages = soak.faults([cold, *[CALM] * 4, late])

    assert messages == ["p99 was 40.1 ms after 1 s, the median interval's is 20.0 ms"]
