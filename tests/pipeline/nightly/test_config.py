"""The configuration of nightly runs: the example of the README, and wrong configurations."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from pipeline.__main__ import main
from pipeline.nightly import config
from pipeline.nightly.config import NightlyConfig, NightlyConfigError
from tests import ROOT

README = (ROOT / "pipeline" / "README.md").read_text(encoding="utf-8")
# The required keys alone.
MINIMAL = 'work = "w"\ndata = "d"\nsources = ["ee"]\n'


def read_config(tmp_path: Path, text: str) -> NightlyConfig:
    """The configuration that is read from a file with this text."""
    (tmp_path / "nightly.toml").write_text(text, encoding="utf-8")
    return config.read(tmp_path / "nightly.toml")


def test_the_example_of_the_readme_has_every_key(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)

    nightly_config = read_config(tmp_path, example)

    assert {field.name for field in fields(NightlyConfig)} == set(re.findall(r"^\[?(\w+)", example, re.M)) - {
        "addresses", "secret", "fetch", "size", "rows",
    }  # fmt: skip
    assert nightly_config.work == Path("/srv/societes/nightly")
    assert nightly_config.memory == 16 << 30
    assert nightly_config.minimum == {"": 18_000_000, "UK": 2_500_000}
    assert nightly_config.source["be-kbo"].rows == (30_000_000, 100_000_000)


def test_relative_paths_start_at_the_folder_of_the_configuration(tmp_path: Path) -> None:
    nightly_config = read_config(tmp_path, MINIMAL)

    assert (nightly_config.work, nightly_config.data) == (tmp_path / "w", tmp_path / "d")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('work = "w"\ndata = "d"\n', r"nightly.toml \[sources\]: missing; add it as README.md of pipeline/ describes"),
        (MINIMAL + "keeep = 3\n", r"\[keeep\]: unknown key; use a key of README.md of pipeline/, or remove it"),
        (MINIMAL + "keep = 1\n", r"\[keep\]: 1 is refused; give a number of 2 or more"),
        (MINIMAL + "jobs = '3'\n", r"\[jobs\]: '3' is refused; give a whole number"),
        (MINIMAL + "jobs = true\n", r"\[jobs\]: True is refused; give a whole number"),
        (MINIMAL + "memory = 0\n", r"\[memory\]: '0' is not an amount of memory"),
        (MINIMAL + "max_rejected = 2\n", r"\[max_rejected\]: 2 is refused; give a number of 1 or less"),
        (MINIMAL + "max_rejected = true\n", r"\[max_rejected\]: True is refused; give a number"),
        (MINIMAL + 'minimum = ["ZZ=3"]\n', r"\[minimum\]: unknown country ZZ"),
        (MINIMAL + 'minimum = ["UK=1", "5", "UK=2"]\n', r"\[minimum\]: UK has several minimums; give one"),
        (MINIMAL + 'minimum = ["5", "6"]\n', r"\[minimum\]: the total has several minimums; give one"),
        (MINIMAL + "minimum = 3\n", r"\[minimum\]: 3 is refused; give a list"),
        (MINIMAL + "verify = 1\n", r"\[verify\]: 1 is refused; give true or false"),
        (MINIMAL + 'contact = ""\n', r"\[contact\]: '' is refused; give a text that is not empty"),
        (MINIMAL + "key = 3\n", r"\[key\]: 3 is refused; give a path"),
        (MINIMAL + 'key = ""\n', r"\[key\]: '' is refused; give a path"),
        (MINIMAL + 'textfile = "a.txt"\n', r"\[textfile\]: 'a.txt' is not a file name that a collector reads"),
        (MINIMAL.replace("ee", "zz"), r"\[sources.0\]: unknown source 'zz'; known: be-kbo"),
        (MINIMAL.replace('"ee"', '"ee", "ee"'), r"\[sources\]: ee is named twice; name it once"),
        (MINIMAL.replace('"ee"', ""), r"\[sources\]: \[\] is refused; give a list that is not empty"),
        (MINIMAL + "[source.zz]\n", r"\[source.zz\]: unknown source 'zz'"),
        (MINIMAL + '[source.ee]\nadress = "x"\n', r"\[source.ee.adress\]: unknown key"),
        (MINIMAL + "[source.ee]\nrows = [5, 1]\n", r"\[source.ee.rows\]: \[5, 1\] is not a pair"),
        (MINIMAL + "[source.ee]\nsize = [5]\n", r"\[source.ee.size.1\]: missing; add it"),
        (MINIMAL + "[source.ee]\nmax_rejected = 5\n", r"\[source.ee.max_rejected\]: 5 is refused; give a number of 1"),
        (MINIMAL + "valid_days = 9999\n", r"\[valid_days\]: 9999 is refused; give a number of 3650 or less"),
        (MINIMAL + "keep = \n", "is not TOML"),
    ],
)  # fmt: skip
def test_a_wrong_configuration_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(NightlyConfigError, match=message):
        read_config(tmp_path, text)


def test_the_environment_overrides_the_file(tmp_path: Path) -> None:
    nightly_config = read_config(
        tmp_path, MINIMAL + 'contact = "a@example.org"\n[source.be-nbb]\nsecret = "old"\n'
    )
    environment = {"FETCH_CONTACT": "b@example.org", "FETCH_SECRET_BE_NBB": "new"}

    settings = config.fetch_settings(nightly_config.contact, nightly_config.source, environment)

    assert settings.contact == "b@example.org"
    assert settings.sources["be-nbb"].secret == "new"


def test_an_unknown_variable_is_named() -> None:
    with pytest.raises(
        NightlyConfigError, match="unknown variable FETCH_SECRET_BENBB; known: FETCH_CONTACT, "
    ):
        config.fetch_settings("", {}, {"FETCH_SECRET_BENBB": "x", "PATH": "/bin"})


def test_a_source_to_accept_must_be_in_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read_config(tmp_path, MINIMAL)

    code = main(["nightly", str(tmp_path / "nightly.toml"), "--accept", "gleif"])

    assert code == 1
    assert "--accept gleif: " in capsys.readouterr().err
