"""`python -m quota`: wrong use, failures, and `--help`."""

import json

import pytest

from quota import __main__ as quota_command
from quota.__main__ import main
from tests.quota.command import Capture, Command


@pytest.mark.parametrize(
    ("words", "expected_text"),
    [
        (["account", "create", "--plan", "visiteur"], "'visiteur'"),
        (["account", "create", "--plan", "platine"], "'platine'"),
        (["account", "create", "--plan", "free", "--api-tool"], "--api-tool is not available"),
        (["account", "create", "--plan", "integral", "--no-api-tool"], "--no-api-tool is not"),
        (
            ["account", "create", "--plan", "data", "--modules", "marche"],
            "--modules marche is not available with the plan 'data', whose modules are fixed: "
            "leave it out, or take the plan carte",
        ),
        (["account", "set-plan", "a_", "free", "--modules", "marche"], "plan 'free'"),
        (["account", "create"], "--plan"),
        (["account", "create", "--plan", "free", "--nom", "Żabka\nÉcole"], "'Żabka\\nÉcole'"),
        (["key", "create", "a_", "--label", "CRM\x1b[2J"], "'CRM\\x1b[2J'"),
        (["person", "add", "a_", "foo"], "'foo' is not an e-mail address"),
        (["person", "add", "a_", "zoé@exemple.fr\n."], "is not an e-mail address"),
        (["account", "create", "--pla", "free"], "required: --plan"),
        (["account", "list", "--js"], "arguments: --js\n"),
        (["--quot", "lmdb", "account", "list"], "'lmdb'"),
        (["account", "create", "--plan", "carte", "--modules", "Bourse!"], "'Bourse!'"),
        (
            ["account", "create", "--plan", "carte", "--modules", "marche,foo"],
            "'foo' is not a module; use one or both of entreprise, marche",
        ),
        (["credits", "add", "a_", "0"], "from 1 to 1000000000"),
        (
            ["credits", "add", "a_", "1000000001"],
            "'1000000001' is refused; give a whole number from 1",
        ),
        (["credits", "add", "a_", "9" * 20], "from 1 to 1000000000"),
        (["credits", "add", "a_", "-5"], "-5"),
        (["credits", "add", "a_", "1.5"], "'1.5'"),
        (["compact", "--keep-months", "x"], "'x'"),
        (["purge", "--unused-days", "29"], "'29' is refused; give a whole number from 30"),
        (
            ["compact", "--keep-months", "99999"],
            "'99999' is refused; give a whole number from 0 to 1200",
        ),
        (["cle", "create"], "'cle'"),
        ([], "COMMAND"),
    ],
)
def test_wrong_use_names_the_value_and_creates_nothing(
    quota: Command, words: list[str], expected_text: str
) -> None:
    assert expected_text in quota.fails(*words, code=2)
    assert not quota.state.exists()


@pytest.mark.parametrize(
    ("words", "expected_text"),
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
def test_a_failed_command_prints_one_line_that_names_the_value(
    quota: Command, account: str, words: list[str], expected_text: str
) -> None:
    error = quota.fails(*words, code=1)

    assert expected_text in error
    assert error.startswith("quota: ")
    assert len(error.splitlines()) == 1


def test_the_cap_of_keys_is_named_with_its_remedy(quota: Command, account: str) -> None:
    keys = [quota.json("key", "create", account)["key_id"] for _ in range(3)]

    error = quota.fails("key", "create", account, code=1)

    assert "allows 3" in error
    assert any(f"key revoke {key}" in error for key in keys)


def test_a_folder_without_a_store_is_named_and_stays_as_it_is(quota: Command) -> None:
    assert "account create" in quota.fails("account", "list", code=1)
    assert not quota.state.exists()


def test_a_damaged_store_is_named_once_with_the_remedy(quota: Command, account: str) -> None:
    (quota.state / "quota.lmdb").write_bytes(b"Gen\xc3\xa9rale" * 4_000)

    error = quota.fails("account", "list", code=1)

    assert "not an LMDB file; replace it by a copy" in error
    assert error.count("quota.lmdb") == 1


@pytest.mark.parametrize("words", ["account create --plan free", "account list"])
def test_a_file_in_the_place_of_the_folder_is_named(quota: Command, words: str) -> None:
    quota.state.write_text("état")

    error = quota.fails(*words.split(), code=1)

    assert f"{quota.state} must be a folder" in error
    assert "Errno" not in error


def test_a_backup_into_a_folder_that_is_not_there_names_it(quota: Command, account: str) -> None:
    error = quota.fails("backup", str(quota.state / "nulle part" / "copie"), code=1)

    assert f"{quota.state}/nulle part is not a folder" in error


def test_the_state_folder_can_come_from_an_environment_variable(
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


# The words of each command, of each group of commands, and of the program itself (no words).
COMMANDS = sorted(
    {tuple(verb.words.split()[:depth]) for verb in quota_command._VERBS for depth in range(3)}
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(capsys: Capture, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([*words, "--help"])

    assert "example: python -m quota --state demo-data/state" in capsys.readouterr().out
