"""CAPACITY.md has only figures that were measured."""

import re

from tests import ROOT
from tests.deploy.host import DEPLOY

RESULTS = (ROOT / "tests" / "bench" / "RESULTS.md").read_text(encoding="utf-8")
CAPACITY = (DEPLOY / "CAPACITY.md").read_text(encoding="utf-8")


def test_every_row_of_requests_per_second_is_in_the_results() -> None:
    rows = re.findall(r"^\| [a-z\d].*? \| ([\d ]+) \| (\d+) \|$", CAPACITY, re.MULTILINE)

    assert len(rows) == 6  # the pattern matches the whole table
    for requests, processor in rows:
        assert f"| {requests} | {processor} |" in RESULTS


def test_every_date_of_a_figure_is_in_the_results() -> None:
    days = set(re.findall(r"20\d\d-\d\d-\d\d", CAPACITY))

    assert days
    assert [day for day in sorted(days) if day not in RESULTS] == []


def test_the_figures_of_builds_are_in_the_results() -> None:
    rows = re.findall(
        r"^\| ([\d ]+) \| [^|]+ \| (\d+) \| ([\d.]+ GiB) \|.* \| (20\S+) \|$",
        CAPACITY,
        re.MULTILINE,
    )

    assert len(rows) == 3  # the pattern matches the whole table
    for companies, seconds, memory, day in rows:
        result = rf"^\| {companies}\b.* \| {seconds} \|.* \| {memory} \|.* \| {day} \|$"
        assert re.search(result, RESULTS, re.MULTILINE), companies
