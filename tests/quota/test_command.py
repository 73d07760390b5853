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
    quota.json(
        "account", "create", "--plan", "carte", "--api-tool", "--modules", "entreprise,,marche"
    )
    listed = quota.json("account", "list")

    assert shown == listed[0] or shown == listed[1]
    assert (shown["plan"], shown["plan_effectif"], shown["outil_api"]) == (
        "corporate",
        "free",
        False,
    )
    assert shown["nom"] == "Société Générale"
    assert sorted(one["modules"] for one in listed) == [[], ["entreprise", "marche"]]
    assert "Société Générale" in quota("account", "show", made["account"])
    assert len(quota("account", "list").splitlines()) == 2


def test_a_list_has_a_line_each_whatever_a_label_is(quota: Command, account: str) -> None:
    """A label may come from a form of the pages"""
    store = LmdbStore(quota.state)
    create_key(store, account, load(), NOON, label="CRM\nZoé\x1b[2J").result()
    store.close()

    (line,) = quota("key", "list", account).splitlines()

    assert r"CRM\nZoé\x1b[2J" in line
    assert quota.json("key", "list", account)[0]["label"] == "CRM\nZoé\x1b[2J"


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
    assert store.identify(key["key"]).result() is None
    store.close()


def test_an_address_is_made_listed_and_revoked(quota: Command, account: str) -> None:
    made = quota.json("address", "create", account, "--label", "OpenRefine Ψ")
    token = made["path"].rpartition("/")[2]
    listed = quota.json("address", "list", account)
    ended = quota.json("address", "revoke", made["address_id"])

    assert made["path"] == f"/api/v1/reconciliation/{token}"
    assert token.startswith("soc_rec_")
    assert [(one["address_id"], one["last4"], one["label"], one["revoked"]) for one in listed] == [
        (made["address_id"], token[-4:], "OpenRefine Ψ", None)
    ]
    assert ended["revoked"]
    assert quota.json("address", "list", account) == [ended]
    assert token not in quota("address", "list", account)
    assert "r_nobody" in quota.fails("address", "revoke", "r_nobody", code=1)


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
    store.take(account, 9, datetime.now(UTC)).result()
    store.close()

    assert quota.json("compact", "--keep-months", "900")["rows"] == 0
    assert quota.json("compact")["rows"] == 1
    assert quota.json("compact")["rows"] == 0


def test_compact_refuses_a_clock_that_is_ahead_of_all_counters(
    quota: Command, account: str
) -> None:
    assert quota.json("compact")["rows"] == 0  # there are none yet
    old = NOON.replace(year=2001)
    with closing(LmdbStore(quota.state)) as store:
        store.take(account, 9, old).result()

    refusal = quota.fails("compact", code=1)

    assert "the newest are of 2001-" in refusal
    with closing(LmdbStore(quota.state)) as store:
        assert store.take(account, 9, old).result().used == 2


def test_a_clock_that_was_ahead_is_repaired(quota: Command, account: str) -> None:
    """A month that is still to come is the first that counts: every call is one of its first day."""
    now = datetime.now(UTC)
    with closing(LmdbStore(quota.state)) as store:
        store.compact(f"{now.year + 2}-01")
        assert store.take(account, 9, now).result().reset.year == now.year + 2

    done = quota.json("repair", "--floor", f"{now:%Y-%m}")
    again = quota.json("repair", "--floor", f"{now:%Y-%m}")

    assert done == {"floor": f"{now:%Y-%m}", "before": f"{now.year + 2}-01"}
    assert again["before"] == f"{now:%Y-%m}"
    with closing(LmdbStore(quota.state)) as store:
        meter = store.take(account, 9, now).result()
    assert (meter.used, meter.reset.date()) == (1, now.date() + timedelta(days=1))
    assert "still to come" in quota.fails("repair", "--floor", f"{now.year + 1}-01", code=1)
    assert "no month" in quota.fails("repair", "--floor", "soon", code=2)


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
        "import sys; from pathlib import Path; from quota.store.lmdb_store import LmdbStore\n"
        "store = LmdbStore(Path(sys.argv[1])); print('open', flush=True)\n"
        "known = lambda: print(bool(store.identify(key).result()), flush=True)\n"
        "key = sys.stdin.readline().strip(); known()\n"
        "sys.stdin.readline(); known()\n"
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
