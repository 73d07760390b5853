"""The configuration of `nightly`, which `fetch --config` also reads: one TOML file.

An unknown key and a value of a wrong type are errors: a misspelt `minimum` must not lead to a build without a minimum.
Relative paths start at the folder of the file. Environment variables override the file: FETCH_CONTACT, and
FETCH_SECRET_<SOURCE> for a secret that should not be in a file.
"""

from argparse import ArgumentTypeError
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, TypeAdapter, ValidationInfo

from pipeline import argument_types as types
from pipeline.errors import BuildError
from pipeline.nightly import published_files
from pipeline.nightly.download import SLOWEST
from pipeline.nightly.fetching import FetchSettings, secret_name
from pipeline.nightly.published_files import SourceSettings
from pipeline.stages.rejections import MAX_SHARE
from pipeline.toml_file import (
    NotNegative,
    Positive,
    Share,
    Text,
    Truth,
    convert,
    refuse_unknown_keys,
)
from pipeline.workers.isolation import IDLE_SECONDS, Limits
from seeds.settings import read_toml
from shards.generations import publication
from shards.mirror import signature

CONTACT: Final = "FETCH_CONTACT"  # the environment variable that overrides `contact`
_REPORTS: Final = 30  # the default of `reports`


class NightlyConfigError(BuildError):
    """A setting is unknown, missing or has a wrong value; the message names the setting."""


def _parse_memory(value: object) -> int:
    """The bytes of an amount in GiB, which can be a number or a text."""
    try:
        return types.gibibytes(str(value))
    except ArgumentTypeError as error:
        raise ValueError(str(error)) from error


def _parse_minimums(values: object) -> dict[str, int]:
    """The least numbers of companies by country, from a list of texts such as `FR=1000` (see `--minimum`).

    Raises:
        ValueError: a text has another form, or a country has several minimums.
    """
    if not isinstance(values, list):
        raise ValueError(f"{values!r} is refused; give a list")
    try:
        return types.unique_minimums(types.minimum(str(value)) for value in values)
    except ArgumentTypeError as error:
        raise ValueError(str(error)) from error


def _resolve_path(value: object, info: ValidationInfo[Path]) -> object:
    """Resolve a relative path against the folder of the file, which is the context of the validation."""
    return info.context / value if isinstance(value, str) and value else value


def _check_prom_suffix(path: Path) -> Path:
    """Return `path`; refuse a file of metrics that the textfile collector would ignore."""
    if path.suffix != ".prom":
        raise ValueError(
            f"{path.name!r} is not a file name that a collector reads; write societes.prom"
        )
    return path


def _check_source(name: str) -> str:
    """Return `name`; refuse the name of an unknown source."""
    if name not in (sources := published_files.read()):
        raise ValueError(f"unknown source {name!r}; known: {', '.join(sorted(sources))}")
    return name


def _refuse_repeated(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return `names`; refuse a list that names a source twice."""
    if len(set(names)) < len(names):
        raise ValueError(f"{max(names, key=names.count)} is named twice; name it once")
    return names


_File = Annotated[Path, Field(strict=True), BeforeValidator(_resolve_path)]
_Memory = Annotated[int, BeforeValidator(_parse_memory)]
_Source = Annotated[str, AfterValidator(_check_source)]


@refuse_unknown_keys
@dataclass(frozen=True, slots=True)
class NightlyConfig:
    """The settings of a nightly run; each attribute is a key of the file.

    Attributes:
        work: the folder of fetched files, imports and reports.
        data: where generations are published.
        sources: the names of the sources, in the order of their imports.
        contact: an address at which registers can reach the operator.
        key: the private key that signs generations; None to sign nothing.
        valid_days: the days after which mirrors refuse the signature.
        keep: the number of generations to keep.
        jobs: the number of processes of a build; None for as many as are useful.
        memory: the bytes that an import can use, and that all processes of a build together can use.
        max_rejected: the largest share of a country's rows that a build may reject.
        minimum: the least number of companies of a generation, by country and in total.
        objections: the file of objections of persons (`--objections`).
        personal_mailboxes: whether e-mail addresses of persons are kept.
        verify: whether every invariant is checked before a generation is published.
        reports: the number of reports that are kept.
        strict: whether a night with a failed source ends with exit code 3.
        textfile: where metrics are written for a textfile collector; its name ends with `.prom`.
        slowest: bytes per second; a slower source is given up for the night. 0 for no limit.
        deadline: the minutes after which all fetching ends; the build then uses the files that have arrived.
        import_memory: the bytes that the process of an import can use; None for most of the free memory.
        import_idle: the seconds without a byte read or written after which an import is given up.
        source: for a source, the `addresses` of its files, the `secret` of its account, the least and
            most bytes (`size`) and `rows` of a credible file, the share of rejected rows of a credible import
            (`max_rejected`), whether to send requests (`fetch`), and its own `slowest` and `deadline`.
    """

    work: _File
    data: _File
    sources: Annotated[tuple[_Source, ...], Field(min_length=1), AfterValidator(_refuse_repeated)]
    contact: Text = ""
    key: _File | None = None
    valid_days: Annotated[Positive, Field(le=signature.MOST_DAYS)] = signature.VALID_DAYS
    keep: Annotated[StrictInt, Field(ge=publication.KEPT)] = publication.KEPT
    jobs: Positive | None = None
    memory: _Memory | None = None
    max_rejected: Share = MAX_SHARE
    minimum: Annotated[Mapping[str, int], BeforeValidator(_parse_minimums)] = field(
        default_factory=dict
    )
    objections: _File | None = None
    personal_mailboxes: Truth = True
    verify: Truth = True
    reports: Positive = _REPORTS
    strict: Truth = False
    textfile: Annotated[_File, AfterValidator(_check_prom_suffix)] | None = None
    slowest: NotNegative = SLOWEST
    deadline: Positive | None = None
    import_memory: _Memory | None = None
    import_idle: Positive = int(IDLE_SECONDS)
    source: Mapping[_Source, SourceSettings] = field(default_factory=dict)


def read(path: Path) -> NightlyConfig:
    """The configuration in the TOML file `path`.

    Raises:
        NightlyConfigError: the file cannot be read, lacks a key, or has an unknown key or a wrong value.
    """
    return _convert(read_toml(path, NightlyConfigError), path)


def read_fetch_settings(path: Path | None, environment: Mapping[str, str]) -> FetchSettings:
    """The settings of `fetch`, from the file `path` (None for no file) and the environment.

    Raises:
        NightlyConfigError: as `read`, but no key is required.
    """
    if path is None:
        return fetch_settings("", {}, environment)
    # The keys that `nightly` requires and `fetch` does not use.
    required_elsewhere = {"work": "work", "data": "data", "sources": list(published_files.read())}
    config = _convert({**required_elsewhere, **read_toml(path, NightlyConfigError)}, path)
    return replace(
        fetch_settings(config.contact, config.source, environment),
        slowest=config.slowest,
        deadline=config.deadline,
        limits=Limits(config.import_memory, config.import_idle),
    )


def fetch_settings(
    contact: str, source: Mapping[str, SourceSettings], environment: Mapping[str, str]
) -> FetchSettings:
    """The settings of fetches, from the values of the file; environment variables override them.

    Raises:
        NightlyConfigError: the environment has an unknown variable FETCH_….
    """
    sources = dict(source)
    allowed = {CONTACT, *map(secret_name, published_files.read())}
    if unknown := sorted(
        name for name in environment if name[:6] == "FETCH_" and name not in allowed
    ):
        raise NightlyConfigError(
            f"unknown variable {unknown[0]}; known: {', '.join(sorted(allowed))}"
        )
    for name in published_files.read():
        if secret := environment.get(secret_name(name)):
            sources[name] = replace(sources.get(name, SourceSettings()), secret=secret)
    return FetchSettings(environment.get(CONTACT) or contact, sources)


def _convert(document: Mapping[str, Any], path: Path) -> NightlyConfig:
    """Check a TOML document and convert it to the configuration; `path` is for messages and relative paths."""
    return convert(
        document, TypeAdapter(NightlyConfig), path, NightlyConfigError, "README.md of pipeline/"
    )
