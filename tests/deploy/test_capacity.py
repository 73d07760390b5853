"""CAPACITY.md, held to the figures that were measured."""

import re

from tests import ROOT
from tests.deploy.host import DEPLOY

RESULTS = (ROOT / "tests" / "bench" / "RESULTS.md").read_text(encoding="utf-8")
CAPACITY = (DEPLOY / "CAPACITY.md").read_text(encoding="utf-8")


def test_the_requests_a_second_are_those_that_were_measured() -> None:
    rows = re.findall(r"^\| [a-z].*? \| ([\d ]+) \| (\d+) \|$", CAPACITY, re.MULTILINE)

    assert len(rows) == 6
    for requests, processor in rows:
        assert f"| {requests} | {processor} |" in RESULTS


def test_every_day_of_a_figure_has_results() -> None:
    days = set(re.findall(r"20\d\d-\d\d-\d\d", CAPACITY))

    assert days
    assert [day for day in sorted(days) if day not in RESULTS] == []


def test_the_builds_are_those_that_were_measured() -> None:
    rows = re.findall(
        r"^\| ([\d ]+) \| [^|]+ \| (\d+) \| ([\d.]+ GiB) \|.* \| (20\S+) \|$",
        CAPACITY,
        re.MULTILINE,
    )

    assert len(rows) == 3
    for companies, seconds, memory, day in rows:
        measured = rf"^\| {companies}\b.* \| {seconds} \|.* \| {memory} \|.* \| {day} \|$"
        assert re.search(measured, RESULTS, re.MULTILINE), companies
