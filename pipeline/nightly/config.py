"""The configuration of `nightly`, which `fetch --config` reads too: one TOML file.

A key that is not listed here is an error, as is a value of another type: a misspelt minimum must not leave a build
without one. Relative paths start at the folder of the file. Environment variables come before it: FETCH_CONTACT, and
FETCH_SECRET_<SOURCE> for a key that should not stand in a file.
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
from pipeline.toml_file import NotNegative, Positive, Share, Text, Truth, closed, convert
from pipeline.workers.isolation import IDLE_SECONDS, Limits
from seeds.settings import read_toml
from shards.generations import publication
from shards.mirror import signature

CONTACT: Final = "FETCH_CONTACT"
_REPORTS: Final = 30


class NightlyConfigError(BuildError):
    """A setting is unknown, missing or not of its type; the message says which."""


def _memory(value: object) -> int:
    try:
        return types.gibibytes(str(value))
    except ArgumentTypeError as error:
        raise ValueError(str(error)) from error


def _minimum(values: object) -> dict[str, int]:
    if not isinstance(values, list):
        raise ValueError(f"{values!r} is refused; give a list")
    try:
        return dict(types.minimum(str(value)) for value in values)
    except ArgumentTypeError as error:
        raise ValueError(str(error)) from error


def _in_folder(value: object, info: ValidationInfo[Path]) -> object:
    return info.context / value if isinstance(value, str) and value else value


def _prom(path: Path) -> Path:
    if path.suffix != ".prom":
        raise ValueError(f"{path.name!r} is no name that a collector reads; write societes.prom")
    return path


def _known_source(name: str) -> str:
    if name not in (known := published_files.read()):
        raise ValueError(f"unknown source {name!r}; known: {', '.join(sorted(known))}")
    return name


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError(f"{max(names, key=names.count)} is named twice; name it once")
    return names


_File = Annotated[Path, Field(strict=True), BeforeValidator(_in_folder)]
_Memory = Annotated[int, BeforeValidator(_memory)]
_Source = Annotated[str, AfterValidator(_known_source)]


@closed
@dataclass(frozen=True, slots=True)
class NightlyConfig:
    """The settings of a nightly run; each attribute is a key of the file.

    Attributes:
        work: the folder of what is fetched and imported, and of the reports.
        data: where generations are published.
        key: the private key that signs generations; None to sign none.
        valid_days: the days after which mirrors refuse the signature.
        memory: bytes for an import, and for all processes of a build.
        objections: a file of what persons do not want published.
        personal_mailboxes: whether e-mail addresses of persons are kept.
        verify: whether every invariant is checked before a generation is published.
        reports: how many reports are kept.
        strict: whether a night of which a source failed ends with exit code 3.
        textfile: where metrics are written for a textfile collector; its name ends with `.prom`.
        slowest: the bytes a second under which a source is given up for a night; 0 for none.
        deadline: the minutes after which all fetching ends, and what is there is built.
        import_memory: the bytes that the process of an import may take; None for most of what is free.
        import_idle: the seconds without a byte read or written after which an import is given up.
        source: for a source, the `addresses` of its files, the `secret` of its account, the least and
            most bytes (`size`) and `rows` of a credible file, the share of rejected rows of a credible import,
            whether its servers are asked (`fetch`), and its own `slowest` and `deadline`.
    """

    work: _File
    data: _File
    sources: Annotated[tuple[_Source, ...], Field(min_length=1), AfterValidator(_distinct)]
    contact: Text = ""
    key: _File | None = None
    valid_days: Annotated[Positive, Field(le=signature.MOST_DAYS)] = signature.VALID_DAYS
    keep: Annotated[StrictInt, Field(ge=publication.KEPT)] = publication.KEPT
    jobs: Positive | None = None
    memory: _Memory | None = None
    max_rejected: Share = MAX_SHARE
    minimum: Annotated[Mapping[str, int], BeforeValidator(_minimum)] = field(default_factory=dict)
    objections: _File | None = None
    personal_mailboxes: Truth = True
    verify: Truth = True
    reports: Positive = _REPORTS
    strict: Truth = False
    textfile: Annotated[_File, AfterValidator(_prom)] | None = None
    slowest: NotNegative = SLOWEST
    deadline: Positive | None = None
    import_memory: _Memory | None = None
    import_idle: Positive = int(IDLE_SECONDS)
    source: Mapping[_Source, SourceSettings] = field(default_factory=dict)


def read(path: Path) -> NightlyConfig:
    """The configuration in the TOML file `path`.

    Raises:
        NightlyConfigError: the file cannot be read, lacks a key, or has one that is not in the language.
    """
    return _convert(read_toml(path, NightlyConfigError), path)


def read_fetch_settings(path: Path | None, environment: Mapping[str, str]) -> FetchSettings:
    """The settings of `fetch`: those of the file, if there is one, and of the environment.

    Raises:
        NightlyConfigError: as `read`, but no key is missing.
    """
    if path is None:
        return fetch_settings("", {}, environment)
    unused = {"work": "work", "data": "data", "sources": list(published_files.read())}
    config = _convert({**unused, **read_toml(path, NightlyConfigError)}, path)
    return replace(
        fetch_settings(config.contact, config.source, environment),
        slowest=config.slowest,
        deadline=config.deadline,
        limits=Limits(config.import_memory, config.import_idle),
    )


def fetch_settings(
    contact: str, source: Mapping[str, SourceSettings], environment: Mapping[str, str]
) -> FetchSettings:
    """The settings of fetches, those of the environment first.

    Raises:
        NightlyConfigError: a variable FETCH_… that is none of these.
    """
    sources = dict(source)
    known = {CONTACT, *map(secret_name, published_files.read())}
    if unknown := sorted(
        name for name in environment if name[:6] == "FETCH_" and name not in known
    ):
        raise NightlyConfigError(
            f"unknown variable {unknown[0]}; known: {', '.join(sorted(known))}"
        )
    for name in published_files.read():
        if secret := environment.get(secret_name(name)):
            sources[name] = replace(sources.get(name, SourceSettings()), secret=secret)
    return FetchSettings(environment.get(CONTACT) or contact, sources)


def _convert(document: Mapping[str, Any], path: Path) -> NightlyConfig:
    return convert(
        document, TypeAdapter(NightlyConfig), path, NightlyConfigError, "README.md of pipeline/"
    )
