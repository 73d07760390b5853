"""Settings from flags, environment, file and defaults; unknown settings are refused (D7)."""

import os
import tomllib
from dataclasses import fields
from ipaddress import ip_network
from pathlib import Path

import pytest

from serve import config as configs
from serve.config import SETTINGS, BurstLimits, Config, ConfigError, EditorSettings, read, to_toml
from serve.features.export import operations


def write_config(tmp_path: Path, text: str) -> dict[str, str]:
    """Write a file of settings; return the flag that names it."""
    path = tmp_path / "serve.toml"
    path.write_text(text, encoding="utf-8")
    return {"config": str(path)}


def test_flags_win_over_environment_over_file_over_defaults(tmp_path: Path) -> None:
    flags = write_config(tmp_path, 'port = 1\nhost = "::1"\nworkers = 3\n')

    settings = read(
        {**flags, "port": "3", "host": None}, {"SOCIETES_PORT": "2", "SOCIETES_HOST": "h"}
    )

    assert (settings.port, settings.host, settings.workers, settings.quota) == (3, "h", 3, "lmdb")


def test_the_file_can_be_named_by_the_environment(tmp_path: Path) -> None:
    file = write_config(tmp_path, "port = 7\n")["config"]

    assert read({}, {"SOCIETES_CONFIG": file, "OTHER": "1"}).port == 7


def test_trusted_proxies_are_a_list_in_the_file_and_a_text_elsewhere(tmp_path: Path) -> None:
    """D7: a flag or a variable of the environment is a text with commas"""
    flags = write_config(tmp_path, 'trusted_proxies = ["192.0.2.1", "10.0.0.0/8"]\n')
    networks = (ip_network("192.0.2.1"), ip_network("10.0.0.0/8"))

    assert read(flags, {}).trusted_proxies == networks
    assert read({"trusted_proxies": "192.0.2.1, 10.0.0.0/8"}, {}).trusted_proxies == networks
    assert read(flags, {"SOCIETES_TRUSTED_PROXIES": "::1"}).trusted_proxies == (ip_network("::1"),)
    assert read({}, {}).trusted_proxies == ()


def test_a_boolean_is_a_word_outside_the_file(tmp_path: Path) -> None:
    assert read({}, {}).warm
    assert not read(write_config(tmp_path, "warm = false\n"), {}).warm
    assert not read({"warm": "false"}, {"SOCIETES_WARM": "true"}).warm


def test_each_limit_comes_from_the_first_layer_that_has_it(tmp_path: Path) -> None:
    """D7"""
    flags = write_config(tmp_path, "[debit]\nfree = 10\nlistes = 20\n")

    settings = read(flags, {"SOCIETES_DEBIT_FREE": "30", "SOCIETES_DEBIT_VISITEUR_JOUR": "5"})

    assert settings.debit == BurstLimits(free=30, listes=20, visiteur_jour=5)


def test_the_default_limits_are_those_of_the_contract() -> None:
    """D7: requests a minute; `visiteur_jour` is a day, `exports` are simultaneous"""
    limits = BurstLimits()

    assert (limits.visiteur, limits.free, limits.visiteur_jour, limits.listes) == (
        60,
        60,
        1000,
        300,
    )
    assert (limits.data, limits.carte, limits.corporate, limits.marches) == (120, 120, 300, 300)
    assert (limits.integral, limits.exports) == (600, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "'prot'"),
        ("[debit]\nvisitor = 1", "'visitor'"),
        ("debit = 3", "debit = 3 in"),
        ("debit = 3", "it is a section; write visiteur = … under [debit], or SOCIETES_DEBIT"),
        ("[debit]\nfree = 0", "a whole number of 1 or more"),
        ("[debit]\nfree = -1", "free = -1"),
        ("[debit]\nfree = true", "free = True"),
        ("[debit]\nfree = 1.5", "free = 1.5"),
        ("port = 70000", "65535"),
        ('port = "http"', "'http'"),
        ("workers = 0", "workers = 0"),
        ("makers = 0", "makers = 0"),
        ("spool = 1", "spool = 1"),
        ("[editeur]\nname = 'x'", "'name'"),
        ("[debit]\nexports = 0", "a whole number of 1 or more"),
        ("host = 1", "host = 1"),
        ('quota = "http://h"', "redis://HOST"),
        ('quota = "redis://"', "redis://HOST"),
        ('quota = "redis://u:geheim@h/a"', "redis://…@h/a"),
        ('quota = "redis://h:x/0"', "x"),
        ('quota = "redis://h/0?ssl_ca_certs=a"', "rediss://"),
        ('quota = "rediss://h/0?foo=1"', "foo"),
        ('base_url = "exemple.eu"', "http://"),
        ('base_url = "https://"', "and a host"),
        ("port = = 1", "is not TOML"),
        ('trusted_proxies = ["10.0.0.1/8"]', "write 10.0.0.0/8 for all of it, or 10.0.0.1 for"),
        ('trusted_proxies = ["2001:db8::1/64"]', "write 2001:db8::/64"),
        (
            'trusted_proxies = ["10.0.0.1/33"]',
            "'10.0.0.1/33' is not a network; write one like 10.0.0.0/8 or ::1",
        ),
        (
            'trusted_proxies = ["proxy.exemple.eu"]',
            "'proxy.exemple.eu' is not a network; write one",
        ),
        ("trusted_proxies = 1", "trusted_proxies = 1"),
        ("warm = 1", "warm = 1"),
        ('warm = "no"', "true or false"),
    ],
)
def test_a_setting_that_is_unknown_or_wrong_is_named(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(write_config(tmp_path, text), {})

    assert message in str(caught.value)
    assert "serve.toml" in str(caught.value)


def test_a_wrong_variable_of_the_environment_is_named() -> None:
    with pytest.raises(
        ConfigError, match=r"workers = 'two' in the environment \(SOCIETES_…\): give"
    ):
        read({}, {"SOCIETES_WORKERS": "two"})


@pytest.mark.parametrize("name", ["lease", "quota_strict", "new_store"])
def test_settings_of_several_hosts_need_a_central_store(name: str) -> None:
    """A central store is set by `quota = redis://…`"""
    with pytest.raises(ConfigError, match=f"{name} = true .* quota = redis://"):
        read({name: "true"}, {})


@pytest.mark.parametrize("variable", ["SOCIETES_PROT", "SOCIETES_DEBIT_VISITOR"])
def test_an_unknown_variable_is_named(variable: str) -> None:
    with pytest.raises(ConfigError, match="environment"):
        read({}, {variable: "1"})


@pytest.mark.parametrize("other_variables", [{}, {"SOCIETES_DEBIT_FREE": "5"}])
def test_a_variable_with_the_name_of_the_section_is_refused(
    other_variables: dict[str, str],
) -> None:
    with pytest.raises(ConfigError, match=r"debit = '5' .* SOCIETES_DEBIT_VISITEUR=…"):
        read({}, {"SOCIETES_DEBIT": "5", **other_variables})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="absent"):
        read({"config": str(tmp_path / "absent.toml")}, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nom = 'x'", r"\[editeur\] needs nom and adresse and courriel and hebergeur"),
        (
            "nom='x'\nadresse='x'\ncourriel='x'\nhebergeur='x'",
            "courriel = 'x': give an e-mail",
        ),
    ],
)
def test_a_publisher_needs_all_its_fields(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read(write_config(tmp_path, f"[editeur]\n{text}\n"), {})


EDITOR = "[editeur]\nnom='x'\nadresse='x'\nhebergeur='x'\n"


@pytest.mark.parametrize(
    "text",
    [
        f"contact='a@b.fr'\n{EDITOR}",
        f"{EDITOR}courriel='a@b.fr'",
        f"contact='a@b.fr'\n{EDITOR}courriel='a@b.fr'",
    ],
)
def test_the_address_of_the_operator_is_set_by_one_of_two_names(tmp_path: Path, text: str) -> None:
    config = read(write_config(tmp_path, text), {})

    assert config.operator_address == "a@b.fr"
    assert config == read(write_config(tmp_path, to_toml(config)), {})
    assert to_toml(config).count("a@b.fr") == 1
    assert read({"contact": "+33 3 00"}, {}).operator_address == "+33 3 00"


def test_two_addresses_of_the_operator_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"contact = 'c@d.fr' and courriel = 'a@b.fr'"):
        read({**write_config(tmp_path, f"{EDITOR}courriel='a@b.fr'"), "contact": "c@d.fr"}, {})


def test_printed_settings_can_be_read_again(tmp_path: Path) -> None:
    config = Config(
        data=Path('a "b\\c'),
        base_url="https://exemple.eu",
        trusted_proxies=(ip_network("10.0.0.0/8"), ip_network("::1")),
        warm=False,
        spool=Path("a b"),
        debit=BurstLimits(free=9),
        editeur=EditorSettings("Żabka", "1 rue X", "a@b.fr", "Y", confidentialite='Un "a"\n\nDeux'),
    )

    printed = to_toml(config)

    assert "# state is not set" in printed
    assert tomllib.loads(printed)["debit"]["listes"] == 300
    assert read(write_config(tmp_path, printed), {}) == config


def test_the_password_of_a_central_store_is_not_printed() -> None:
    config = read({"quota": "rediss://quota:geheim@10.0.0.7:6380/1", "lease": "true"}, {})

    printed = to_toml(config)

    assert config.quota == "rediss://quota:geheim@10.0.0.7:6380/1"
    assert 'quota = "rediss://…@10.0.0.7:6380/1"' in printed
    assert "lease = true" in printed


def test_the_manual_has_every_setting_and_every_limit() -> None:
    """The manual is serve/README.md"""
    manual = Path(configs.__file__).with_name("README.md").read_text(encoding="utf-8")
    section = manual.split("## Settings")[1].split("## ")[0]

    assert [name for name in SETTINGS if f"`--{name.replace('_', '-')}`" not in section] == []
    assert [limit.name for limit in fields(BurstLimits) if f"`{limit.name}`" not in section] == []


@pytest.mark.parametrize(
    ("processors", "workers", "makers"), [(1, 1, 1), (2, 1, 2), (2, 2, 1), (4, 2, 2), (None, 1, 1)]
)
def test_exports_have_no_more_processes_than_processors_by_default(
    monkeypatch: pytest.MonkeyPatch, processors: int | None, workers: int, makers: int
) -> None:
    """Decision 210"""
    monkeypatch.setattr(os, "cpu_count", lambda: processors)

    assert operations._default_makers(workers) == makers
