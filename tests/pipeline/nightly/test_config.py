"""The configuration of nightly runs: the example of the README, and every way to be wrong."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from pipeline.__main__ import main
from pipeline.nightly import config
from pipeline.nightly.config import NightlyConfig, NightlyConfigError
from tests import ROOT

README = (ROOT / "pipeline" / "README.md").read_text(encoding="utf-8")
LEAST = 'work = "w"\ndata = "d"\nsources = ["ee"]\n'


def read(tmp_path: Path, text: str) -> NightlyConfig:
    (tmp_path / "nightly.toml").write_text(text, encoding="utf-8")
    return config.read(tmp_path / "nightly.toml")


def test_the_example_of_the_readme_has_every_key(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)

    found = read(tmp_path, example)

    assert {field.name for field in fields(NightlyConfig)} == set(re.findall(r"^\[?(\w+)", example, re.M)) - {
        "addresses", "secret", "fetch", "size", "rows",
    }  # fmt: skip
    assert found.work == Path("/srv/societes/nightly")
    assert found.memory == 16 << 30
    assert found.minimum == {"": 18_000_000, "UK": 2_500_000}
    assert found.source["be-kbo"].rows == (30_000_000, 100_000_000)


def test_paths_start_at_the_folder_of_the_file(tmp_path: Path) -> None:
    found = read(tmp_path, LEAST)

    assert (found.work, found.data) == (tmp_path / "w", tmp_path / "d")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('work = "w"\ndata = "d"\n', r"nightly.toml \[sources\]: is missing; add it as README.md of pipeline/ says"),
        (LEAST + "keeep = 3\n", r"\[keeep\]: no such key; take one that README.md of pipeline/ has, or remove it"),
        (LEAST + "keep = 1\n", r"\[keep\]: 1 is refused; give a number of 2 or more"),
        (LEAST + "jobs = '3'\n", r"\[jobs\]: '3' is refused; give a whole number"),
        (LEAST + "jobs = true\n", r"\[jobs\]: True is refused; give a whole number"),
        (LEAST + "memory = 0\n", r"\[memory\]: '0' is no amount of memory"),
        (LEAST + "max_rejected = 2\n", r"\[max_rejected\]: 2 is refused; give a number of 1 or less"),
        (LEAST + "max_rejected = true\n", r"\[max_rejected\]: True is refused; give a number"),
        (LEAST + 'minimum = ["ZZ=3"]\n', r"\[minimum\]: unknown country ZZ"),
        (LEAST + "minimum = 3\n", r"\[minimum\]: 3 is refused; give a list"),
        (LEAST + "verify = 1\n", r"\[verify\]: 1 is refused; give true or false"),
        (LEAST + 'contact = ""\n', r"\[contact\]: '' is refused; give a text that is not empty"),
        (LEAST + "key = 3\n", r"\[key\]: 3 is refused; give a path"),
        (LEAST + 'key = ""\n', r"\[key\]: '' is refused; give a path"),
        (LEAST + 'textfile = "a.txt"\n', r"\[textfile\]: 'a.txt' is no name that a collector reads"),
        (LEAST.replace("ee", "zz"), r"\[sources.0\]: unknown source 'zz'; known: be-kbo"),
        (LEAST.replace('"ee"', '"ee", "ee"'), r"\[sources\]: ee is named twice; name it once"),
        (LEAST.replace('"ee"', ""), r"\[sources\]: \[\] is refused; give a list that is not empty"),
        (LEAST + "[source.zz]\n", r"\[source.zz\]: unknown source 'zz'"),
        (LEAST + '[source.ee]\nadress = "x"\n', r"\[source.ee.adress\]: no such key"),
        (LEAST + "[source.ee]\nrows = [5, 1]\n", r"\[source.ee.rows\]: \[5, 1\] is no pair"),
        (LEAST + "[source.ee]\nsize = [5]\n", r"\[source.ee.size.1\]: is missing; add it"),
        (LEAST + "[source.ee]\nmax_rejected = 5\n", r"\[source.ee.max_rejected\]: 5 is refused; give a number of 1"),
        (LEAST + "valid_days = 9999\n", r"\[valid_days\]: 9999 is refused; give a number of 3650 or less"),
        (LEAST + "keep = \n", "is not TOML"),
    ],
)  # fmt: skip
def test_a_wrong_configuration_is_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(NightlyConfigError, match=why):
        read(tmp_path, text)


def test_the_environment_comes_before_the_file(tmp_path: Path) -> None:
    found = read(tmp_path, LEAST + 'contact = "a@example.org"\n[source.be-nbb]\nsecret = "old"\n')
    environment = {"FETCH_CONTACT": "b@example.org", "FETCH_SECRET_BE_NBB": "new"}

    settings = config.fetch_settings(found.contact, found.source, environment)

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
    read(tmp_path, LEAST)

    code = main(["nightly", str(tmp_path / "nightly.toml"), "--accept", "gleif"])

    assert code == 1
    assert "--accept gleif: " in capsys.readouterr().err
