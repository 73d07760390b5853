"""`python -m quota`, as design.md §2 has it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quota.__main__ import main
from quota.lmdb_store import LmdbStore
from tests.quota.small import NOON

Capture = pytest.CaptureFixture[str]


class Command:
    """`python -m quota --state STATE …`, and what it printed."""

    def __init__(self, state: Path, capture: Capture) -> None:
        self.state = state
        self._capture = capture

    def __call__(self, *words: str) -> str:
        assert main(["--state", str(self.state), *words]) == 0
        return self._capture.readouterr().out

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))

    def fails(self, *words: str, code: int) -> str:
        try:
            assert main(["--state", str(self.state), *words]) == code
        except SystemExit as stop:
            assert stop.code == code
        printed = self._capture.readouterr()
        assert not printed.out
        return printed.err


@pytest.fixture
def quota(tmp_path: Path, capsys: Capture) -> Command:
    return Command(tmp_path / "état", capsys)


@pytest.fixture
def account(quota: Command) -> str:
    name: str = quota.json("account", "create", "--plan", "data", "--api-tool")["account"]
    return name


@pytest.mark.parametrize(
    ("words", "plan", "tool"),
    [
        (["free"], "free", False),
        (["data"], "data", False),
        (["data", "--api-tool"], "data", True),
        (["integral"], "integral", True),
        (["integral", "--api-tool"], "integral", True),
        (["carte", "--api-tool", "--modules", "bourse,bilans"], "carte", True),
    ],
)
def test_account_create_prints_account_plan_and_tool(
    quota: Command, words: list[str], plan: str, tool: bool
) -> None:
    printed = quota.json("account", "create", "--plan", *words)

    assert list(printed) == ["account", "plan", "outil_api"]
    assert (printed["plan"], printed["outil_api"]) == (plan, tool)


def test_key_create_prints_the_key_once(quota: Command, account: str) -> None:
    printed = quota.json("key", "create", account, "--label", "CRM de Żabka")
    listed = quota.json("key", "list", account)
    others = [
        quota("key", "list", account),
        quota("account", "show", account),
        quota("usage", account),
        json.dumps(listed),
    ]

    assert list(printed) == ["account", "key_id", "key"]
    assert printed["account"] == account
    assert listed == [
        {
            "account": account,
            "key_id": printed["key_id"],
            "last4": printed["key"][-4:],
            "label": "CRM de Żabka",
            "created": listed[0]["created"],
            "revoked": None,
        }
    ]
    assert not any(printed["key"][9:-4] in text for text in others)


def test_account_show_and_list_tell_the_plan_that_is_served(quota: Command) -> None:
    made = quota.json("account", "create", "--plan", "corporate", "--nom", "Société Générale")
    shown = quota.json("account", "show", made["account"])
    quota.json("account", "create", "--plan", "carte", "--api-tool", "--modules", "bourse,,bilans")
    listed = quota.json("account", "list")

    assert shown == listed[0] or shown == listed[1]
    assert (shown["plan"], shown["plan_effectif"], shown["outil_api"]) == (
        "corporate",
        "free",
        False,
    )
    assert shown["nom"] == "Société Générale"
    assert sorted(one["modules"] for one in listed) == [[], ["bourse", "bilans"]]
    assert "Société Générale" in quota("account", "show", made["account"])
    assert len(quota("account", "list").splitlines()) == 2


def test_set_plan_keeps_the_tool_until_it_is_taken_away(quota: Command, account: str) -> None:
    kept = quota.json("account", "set-plan", account, "--plan", "corporate")
    without = quota.json("account", "set-plan", account, "--plan", "corporate", "--no-api-tool")
    back = quota.json("account", "set-plan", account, "--plan", "data", "--api-tool")

    assert (kept["plan"], kept["outil_api"], kept["plan_effectif"]) == (
        "corporate",
        True,
        "corporate",
    )
    assert (without["outil_api"], without["plan_effectif"]) == (False, "free")
    assert (back["plan"], back["outil_api"]) == ("data", True)


def test_a_revoked_key_is_listed_with_its_date(quota: Command, account: str) -> None:
    key = quota.json("key", "create", account)
    ended = quota.json("key", "revoke", key["key_id"])

    assert quota.json("key", "list", account) == [ended]
    assert ended["revoked"]
    store = LmdbStore(quota.state)
    assert store.identify(key["key"]) is None
    store.close()


def test_usage_has_the_names_of_the_api(quota: Command, account: str) -> None:
    assert quota.json("credits", "add", account, "500") == {
        "account": account,
        "ajoutes": 500,
        "packs": 500,
    }
    store = LmdbStore(quota.state)
    store.take(account, 9, NOON.replace(year=1990)).result()
    store.close()

    usage = quota.json("usage", account)

    assert list(usage) == ["account", "plan", "appels_jour", "exports_mois", "credits"]
    assert usage["plan"] == "data"
    reset = usage["appels_jour"].pop("reinitialisation")
    assert usage["appels_jour"] == {"limite": 1000, "utilise": 0, "restant": 1000}
    assert reset.endswith("T00:00:00Z")
    assert usage["exports_mois"]["limite"] == 40
    month = usage["credits"].pop("reinitialisation")
    assert month.endswith("-01T00:00:00Z")
    assert usage["credits"] == {"dotation": 5000, "utilise": 0, "packs": 500, "solde": 5500}
    assert "solde 5500" in quota("usage", account)


def test_compact_keeps_the_months_it_is_told_to(quota: Command, account: str) -> None:
    store = LmdbStore(quota.state)
    store.take(account, 9, NOON.replace(year=2001)).result()
    store.close()

    assert quota.json("compact", "--keep-months", "900")["rows"] == 0
    assert quota.json("compact")["rows"] == 1
    assert quota.json("compact")["rows"] == 0


def test_backup_writes_a_copy_that_a_store_can_be_opened_from(
    quota: Command, account: str, tmp_path: Path
) -> None:
    copy = tmp_path / "copie.lmdb"

    printed = quota.json("backup", str(copy))

    assert printed == {"file": str(copy), "bytes": copy.stat().st_size}
    shutil.copyfile(copy, quota.state / "quota.lmdb")
    assert quota.json("account", "list")[0]["account"] == account
    assert "copie.lmdb exists" in quota.fails("backup", str(copy), code=1)


def test_commands_work_while_a_server_has_the_store_open(quota: Command, account: str) -> None:
    code = (
        "import sys; from pathlib import Path; from quota.lmdb_store import LmdbStore\n"
        "store = LmdbStore(Path(sys.argv[1])); print('open', flush=True)\n"
        "key = sys.stdin.readline().strip(); print(bool(store.identify(key)), flush=True)\n"
        "sys.stdin.readline(); print(bool(store.identify(key)), flush=True)\n"
    )
    with _python(code, str(quota.state)) as server:
        assert server.stdin
        assert server.stdout
        assert server.stdout.readline() == "open\n"
        key = quota.json("key", "create", account)
        print(key["key"], file=server.stdin, flush=True)
        assert server.stdout.readline() == "True\n"
        quota("key", "revoke", key["key_id"])
        print(file=server.stdin, flush=True)
        assert server.stdout.readline() == "False\n"


def _python(code: str, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )


# -- wrong use, and what fails -----------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["account", "create", "--plan", "visiteur"], "'visiteur'"),
        (["account", "create", "--plan", "platine"], "'platine'"),
        (["account", "create", "--plan", "free", "--api-tool"], "--api-tool cannot be had"),
        (["account", "create"], "--plan"),
        (["account", "create", "--plan", "carte", "--modules", "Bourse!"], "'Bourse!'"),
        (["credits", "add", "a_", "0"], "at least 1"),
        (["credits", "add", "a_", "-5"], "-5"),
        (["credits", "add", "a_", "1.5"], "'1.5'"),
        (["compact", "--keep-months", "x"], "'x'"),
        (["cle", "create"], "'cle'"),
        ([], "COMMAND"),
    ],
)
def test_wrong_use_names_the_value_and_makes_nothing(
    quota: Command, words: list[str], said: str
) -> None:
    assert said in quota.fails(*words, code=2)
    assert not quota.state.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["account", "show", "a_nobody"], "'a_nobody'"),
        (["account", "set-plan", "a_nobody", "--plan", "free"], "'a_nobody'"),
        (["key", "create", "a_nobody"], "'a_nobody'"),
        (["key", "list", "a_nobody"], "'a_nobody'"),
        (["key", "revoke", "k_none"], "'k_none'"),
        (["credits", "add", "a_nobody", "5"], "'a_nobody'"),
        (["usage", "a_nobody"], "'a_nobody'"),
    ],
)
def test_what_fails_is_said_in_one_line(
    quota: Command, account: str, words: list[str], said: str
) -> None:
    error = quota.fails(*words, code=1)

    assert said in error
    assert error.startswith("quota: ")
    assert len(error.splitlines()) == 1


def test_the_cap_of_keys_is_said_with_its_remedy(quota: Command, account: str) -> None:
    made = [quota.json("key", "create", account)["key_id"] for _ in range(3)]

    error = quota.fails("key", "create", account, code=1)

    assert "allows 3" in error
    assert any(f"key revoke {key}" in error for key in made)


def test_a_folder_without_a_store_is_named_and_stays_as_it_is(quota: Command) -> None:
    assert "account create" in quota.fails("account", "list", code=1)
    assert not quota.state.exists()


def test_the_state_folder_may_be_a_variable(
    quota: Command, account: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("SOCIETES_STATE", str(quota.state))

    assert main(["account", "show", account, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["account"] == account


def test_without_a_state_folder_nothing_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delenv("SOCIETES_STATE", raising=False)

    with pytest.raises(SystemExit, match="2"):
        main(["account", "list"])
    assert "--state" in capsys.readouterr().err


COMMANDS = [
    [], ["account", "create"], ["account", "show"], ["account", "list"], ["account", "set-plan"],
    ["key", "create"], ["key", "list"], ["key", "revoke"], ["credits", "add"], ["usage"],
    ["compact"], ["backup"],
]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_help_with_an_example(capsys: Capture, words: list[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([*words, "--help"])

    assert "example: python -m quota --state demo-data/state" in capsys.readouterr().out
