"""`python -m quota`: its commands, and the members that scripts rely on."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quota.plans import load
from quota.store.lmdb_store import LmdbStore
from tests.quota.command import Command
from tests.quota.filling import create_key
from tests.quota.small import NOON


@pytest.mark.parametrize(
    ("words", "plan", "tool"),
    [
        (["free"], "free", False),
        (["data"], "data", False),
        (["data", "--api-tool"], "data", True),
        (["integral"], "integral", True),
        (["integral", "--api-tool"], "integral", True),
        (["carte", "--api-tool", "--modules", "entreprise,marche"], "carte", True),
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
    later_outputs = [
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
    # The secret part of the key, without its prefix and its last four characters.
    assert not any(printed["key"][9:-4] in text for text in later_outputs)


def test_account_show_and_list_print_the_plan_that_is_served(quota: Command) -> None:
    """The API tool is an option of the plan: without it, the keys of the account have the rights of `free`."""
    created = quota.json("account", "create", "--plan", "corporate", "--nom", "Société Générale")
    printed = quota.json("account", "show", created["account"])
    quota.json(
        "account", "create", "--plan", "carte", "--api-tool", "--modules", "entreprise,,marche"
    )
    listed = quota.json("account", "list")

    assert printed == listed[0] or printed == listed[1]
    assert (printed["plan"], printed["plan_effectif"], printed["outil_api"]) == (
        "corporate",
        "free",
        False,
    )
    assert printed["nom"] == "Société Générale"
    assert sorted(listing["modules"] for listing in listed) == [[], ["entreprise", "marche"]]
    assert "Société Générale" in quota("account", "show", created["account"])
    assert len(quota("account", "list").splitlines()) == 2


def test_each_key_is_listed_on_one_line_whatever_its_label_contains(
    quota: Command, account: str
) -> None:
    """A label may come from a form of the pages"""
    store = LmdbStore(quota.state)
    create_key(store, account, load(), NOON, label="CRM\nZoé\x1b[2J").result()
    store.close()

    (line,) = quota("key", "list", account).splitlines()

    assert r"CRM\nZoé\x1b[2J" in line
    assert quota.json("key", "list", account)[0]["label"] == "CRM\nZoé\x1b[2J"


def test_set_plan_keeps_the_tool_until_an_option_removes_it(quota: Command, account: str) -> None:
    changed = quota.json("account", "set-plan", account, "--plan", "corporate")
    without_tool = quota.json(
        "account", "set-plan", account, "--plan", "corporate", "--no-api-tool"
    )
    with_tool_again = quota.json("account", "set-plan", account, "--plan", "data", "--api-tool")

    assert (changed["plan"], changed["outil_api"], changed["plan_effectif"]) == (
        "corporate",
        True,
        "corporate",
    )
    assert (without_tool["outil_api"], without_tool["plan_effectif"]) == (False, "free")
    assert (with_tool_again["plan"], with_tool_again["outil_api"]) == ("data", True)


def test_a_revoked_key_is_listed_with_its_date(quota: Command, account: str) -> None:
    key = quota.json("key", "create", account)
    revoked_key = quota.json("key", "revoke", key["key_id"])

    assert quota.json("key", "list", account) == [revoked_key]
    assert revoked_key["revoked"]
    store = LmdbStore(quota.state)
    assert store.identify(key["key"]).result() is None
    store.close()


def test_an_address_is_made_listed_and_revoked(quota: Command, account: str) -> None:
    created = quota.json("address", "create", account, "--label", "OpenRefine Ψ")
    token = created["path"].rpartition("/")[2]
    listed = quota.json("address", "list", account)
    revoked_address = quota.json("address", "revoke", created["address_id"])

    assert created["path"] == f"/api/v1/reconciliation/{token}"
    assert token.startswith("soc_rec_")
    assert [
        (address["address_id"], address["last4"], address["label"], address["revoked"])
        for address in listed
    ] == [(created["address_id"], token[-4:], "OpenRefine Ψ", None)]
    assert revoked_address["revoked"]
    assert quota.json("address", "list", account) == [revoked_address]
    assert token not in quota("address", "list", account)
    assert "r_nobody" in quota.fails("address", "revoke", "r_nobody", code=1)


def test_usage_has_the_names_of_the_api(quota: Command, account: str) -> None:
    assert quota.json("credits", "add", account, "500") == {
        "account": account,
        "ajoutes": 500,
        "packs": 500,
    }
    store = LmdbStore(quota.state)
    store.take(
        account, 9, NOON.replace(year=1990)
    ).result()  # of another day, so it is not in `utilise`
    store.close()

    usage = quota.json("usage", account)

    assert list(usage) == ["account", "plan", "appels_jour", "exports_mois", "credits"]
    assert usage["plan"] == "data"
    day_end = usage["appels_jour"].pop("reinitialisation")
    assert usage["appels_jour"] == {"limite": 1000, "utilise": 0, "restant": 1000}
    assert day_end.endswith("T00:00:00Z")
    assert usage["exports_mois"]["limite"] == 40
    month_end = usage["credits"].pop("reinitialisation")
    assert month_end.endswith("-01T00:00:00Z")
    assert usage["credits"] == {"dotation": 5000, "utilise": 0, "packs": 500, "solde": 5500}
    assert "solde 5500" in quota("usage", account)


def test_compact_keeps_the_requested_months(quota: Command, account: str) -> None:
    store = LmdbStore(quota.state)
    store.take(account, 9, NOON.replace(year=2001)).result()
    store.take(account, 9, datetime.now(UTC)).result()
    store.close()

    # 900 months reach back before 2001; without the option the counter of 2001 is dropped, once.
    assert quota.json("compact", "--keep-months", "900")["rows"] == 0
    assert quota.json("compact")["rows"] == 1
    assert quota.json("compact")["rows"] == 0


def test_compact_refuses_a_clock_that_is_ahead_of_all_counters(
    quota: Command, account: str
) -> None:
    """The only counters are of 2001, so today's clock may be wrong, and would drop all of them"""
    assert quota.json("compact")["rows"] == 0  # there are no counters yet
    year_2001 = NOON.replace(year=2001)
    with closing(LmdbStore(quota.state)) as store:
        store.take(account, 9, year_2001).result()

    refusal = quota.fails("compact", code=1)

    assert "the newest are of 2001-" in refusal
    with closing(LmdbStore(quota.state)) as store:
        assert store.take(account, 9, year_2001).result().used == 2


def test_a_clock_that_was_ahead_is_repaired(quota: Command, account: str) -> None:
    """A compact two years ahead kept only future months, so every call counts on the first day of these."""
    now = datetime.now(UTC)
    with closing(LmdbStore(quota.state)) as store:
        store.compact(f"{now.year + 2}-01")
        assert store.take(account, 9, now).result().reset.year == now.year + 2

    repaired = quota.json("repair", "--floor", f"{now:%Y-%m}")
    repaired_again = quota.json("repair", "--floor", f"{now:%Y-%m}")

    assert repaired == {"floor": f"{now:%Y-%m}", "before": f"{now.year + 2}-01"}
    assert repaired_again["before"] == f"{now:%Y-%m}"
    with closing(LmdbStore(quota.state)) as store:
        meter = store.take(account, 9, now).result()
    assert (meter.used, meter.reset.date()) == (1, now.date() + timedelta(days=1))
    assert "is in the future" in quota.fails("repair", "--floor", f"{now.year + 1}-01", code=1)
    assert "is not a month" in quota.fails("repair", "--floor", "soon", code=2)


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
    """Another process with the store open, as a server, knows a new key at once and refuses a revoked key at once."""
    code = (
        "import sys; from pathlib import Path; from quota.store.lmdb_store import LmdbStore\n"
        "store = LmdbStore(Path(sys.argv[1])); print('open', flush=True)\n"
        "print_is_valid = lambda: print(bool(store.identify(key).result()), flush=True)\n"
        "key = sys.stdin.readline().strip(); print_is_valid()\n"
        "sys.stdin.readline(); print_is_valid()\n"
    )
    with _start_python(code, str(quota.state)) as server:
        assert server.stdin
        assert server.stdout
        assert server.stdout.readline() == "open\n"
        key = quota.json("key", "create", account)
        print(key["key"], file=server.stdin, flush=True)
        assert server.stdout.readline() == "True\n"
        quota("key", "revoke", key["key_id"])
        print(file=server.stdin, flush=True)
        assert server.stdout.readline() == "False\n"


def _start_python(code: str, *words: str) -> "subprocess.Popen[str]":
    """A Python process that runs `code`, with pipes as its input and output."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )
