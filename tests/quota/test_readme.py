"""The operator's manual: its commands run, and its table has every kind of row."""

import re
import shlex
from pathlib import Path

from quota.ledger import row_format
from tests.quota.command import Command

README = (Path(__file__).parents[2] / "quota" / "README.md").read_text(encoding="utf-8")


def test_the_commands_of_the_manual_work_in_their_order(quota: Command, tmp_path: Path) -> None:
    lines = re.findall(r"^python -m quota --state state (.+)$", README, re.MULTILINE)
    ids: dict[str, str] = {}
    for line in lines:
        for example, real in ids.items():
            line = line.replace(example, real)
        words = shlex.split(line, comments=True)
        if words[:2] == ["person", "role"]:  # the manual names somebody who has joined by then
            quota.json("person", "add", ids["a_kwQwnnTrk7Fi"], words[2], "--role", "membre")
        if words[0] == "backup":
            words[1] = str(tmp_path / words[1])

        printed = quota.json(*words)

        if words[:2] == ["account", "create"]:
            ids["a_kwQwnnTrk7Fi"] = printed["account"]
        if words[:2] == ["key", "create"]:
            ids["k_OZODlAYFNuEI"] = printed["key_id"]
        if words[:2] == ["address", "create"]:
            ids["r_3nRb2sUyvQ7d"] = printed["address_id"]

    assert len(lines) == 26  # fewer would mean that the pattern misses commands


def test_the_tests_of_the_promises_of_several_hosts_exist() -> None:
    promises = README.partition("effects of faults on several hosts")[2].partition("## Edges")[0]
    test_files = re.findall(r"\| `([a-z_/]+\.py)` \|$", promises, re.MULTILINE)
    tests = Path(__file__).parents[1]

    # Each row of the table, except its heading and the line below, ends in the file of a test.
    assert len(test_files) == promises.count("\n|") - 2
    assert [
        file
        for file in test_files
        if not any((folder / file).is_file() for folder in (tests, tests / "quota"))
    ] == []


def test_the_manual_has_every_kind_of_row() -> None:
    table = README.partition("## Rows")[2]
    kinds_in_table = set(
        re.findall(r"`([a-zA-Z]/|agenda/|format|floor|identity|visitor lists)", table)
    )

    kinds = {
        value.decode()
        for name, value in vars(row_format).items()
        if isinstance(value, bytes) and name not in ("VERSION", "UNINDEXED")
    }
    assert kinds_in_table == kinds
