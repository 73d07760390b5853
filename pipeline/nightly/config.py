"""The configuration of `nightly`, which `fetch --config` reads too: one TOML file.

A key that is not listed here is an error, as is a value of another type: a misspelt minimum must not leave a build
without one. Relative paths start at the folder of the file. Environment variables come before it: FETCH_CONTACT, and
FETCH_SECRET_<SOURCE> for a key that should not stand in a file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from pipeline import argument_types as types
from pipeline.errors import BuildError
from pipeline.nightly import published_files
from pipeline.nightly.download import SLOWEST
from pipeline.nightly.fetching import FetchSettings, secret_name
from pipeline.nightly.published_files import SourceSettings
from pipeline.stages.rejections import MAX_SHARE
from pipeline.workers.isolation import IDLE_SECONDS, Limits
from seeds.settings import KINDS, naming_value, read_settings, read_toml, whole_number
from shards.generations import publication
from shards.mirror import signature

CONTACT: Final = "FETCH_CONTACT"
_REQUIRED: Final = ("work", "data", "sources")
_REPORTS: Final = 30

T = TypeVar("T")


class NightlyConfigError(BuildError):
    """A setting is unknown, missing or not of its type; the message says which."""


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

    work: Path
    data: Path
    sources: tuple[str, ...]
    contact: str = ""
    key: Path | None = None
    valid_days: int = signature.VALID_DAYS
    keep: int = publication.KEPT
    jobs: int | None = None
    memory: int | None = None
    max_rejected: float = MAX_SHARE
    minimum: Mapping[str, int] = field(default_factory=dict)
    objections: Path | None = None
    personal_mailboxes: bool = True
    verify: bool = True
    reports: int = _REPORTS
    strict: bool = False
    textfile: Path | None = None
    slowest: int = SLOWEST
    deadline: int | None = None
    import_memory: int | None = None
    import_idle: int = int(IDLE_SECONDS)
    source: Mapping[str, SourceSettings] = field(default_factory=dict)


def read(path: Path) -> NightlyConfig:
    """The configuration in the TOML file `path`.

    Raises:
        NightlyConfigError: the file cannot be read, lacks a key, or says what is not in the language.
    """
    found = _load(path)
    if missing := [key for key in _REQUIRED if key not in found]:
        raise NightlyConfigError(
            f"{path} lacks {missing[0]!r}; add it, as the example in README.md of pipeline/ has it"
        )
    return NightlyConfig(**found)


def read_fetch_settings(path: Path | None, environment: Mapping[str, str]) -> FetchSettings:
    """The settings of `fetch`: those of the file, if there is one, and of the environment.

    Raises:
        NightlyConfigError: as `read`, but no key is missing.
    """
    found = _load(path) if path else {}
    settings = fetch_settings(found.get("contact", ""), found.get("source", {}), environment)
    return replace(
        settings,
        slowest=found.get("slowest", SLOWEST),
        deadline=found.get("deadline"),
        limits=Limits(found.get("import_memory"), found.get("import_idle", IDLE_SECONDS)),
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


def _load(path: Path) -> dict[str, Any]:
    """The keys of the file as values of `NightlyConfig`."""
    document = read_toml(path, NightlyConfigError)
    readers = _readers(path.resolve().parent)
    return read_settings(document, readers, str(path), NightlyConfigError, kind="key")


# -- readers: a value of TOML becomes that of a setting, or a ValueError ---------------


def _readers(folder: Path) -> dict[str, Callable[[Any], Any]]:
    def path(value: object) -> Path:
        return folder / _check_kind(value, str)

    return {
        "work": path,
        "data": path,
        "sources": _sources,
        "contact": lambda value: _check_kind(value, str),
        "key": path,
        "valid_days": _whole_number(1, signature.MOST_DAYS),
        "keep": _whole_number(publication.KEPT),
        "jobs": _whole_number(1),
        "memory": lambda value: types.gibibytes(str(value)),
        "max_rejected": lambda value: types.share(str(value)),
        "minimum": lambda value: dict(
            types.minimum(str(part)) for part in _check_kind(value, list)
        ),
        "objections": path,
        "personal_mailboxes": lambda value: _check_kind(value, bool),
        "verify": lambda value: _check_kind(value, bool),
        "reports": _whole_number(1),
        "strict": lambda value: _check_kind(value, bool),
        "textfile": lambda value: folder / _prom(value),
        "slowest": _whole_number(),
        "deadline": _whole_number(1),
        "import_memory": lambda value: types.gibibytes(str(value)),
        "import_idle": _whole_number(1),
        "source": _source_tables,
    }


def _check_kind(value: object, kind: type[T]) -> T:
    if not isinstance(value, kind) or value in ("", []):
        filled = " that is not empty" if value in ("", []) else ""
        raise ValueError(f"{value!r} is refused; give {KINDS[kind]}{filled}")
    return value


def _whole_number(least: int = 0, most: int | None = None) -> Callable[[Any], int]:
    """The reader of whole numbers, as TOML writes them: a text of digits is none."""
    read = whole_number(least, most)
    return naming_value(lambda value: read(None if isinstance(value, str) else value))


def _prom(value: object) -> str:
    if not (name := _check_kind(value, str)).endswith(".prom"):
        raise ValueError(f"{name!r} is no name that a collector reads; write societes.prom")
    return name


def _sources(value: object) -> tuple[str, ...]:
    found = tuple(_known_source(name) for name in _check_kind(value, list))
    if len(set(found)) < len(found):
        raise ValueError(f"{max(found, key=found.count)} is named twice; name it once")
    return found


def _known_source(name: object) -> str:
    known = published_files.read()
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"unknown source {name!r}; known: {', '.join(sorted(known))}")
    return name


def _source_tables(value: object) -> dict[str, SourceSettings]:
    readers: Mapping[str, Callable[[Any], Any]] = {
        "addresses": lambda value: {
            n: _check_kind(a, str) for n, a in _check_kind(value, dict).items()
        },
        "secret": lambda value: _check_kind(value, str),
        "size": _bounds,
        "rows": _bounds,
        "max_rejected": lambda value: types.share(str(value)),
        "fetch": lambda value: _check_kind(value, bool),
        "slowest": _whole_number(),
        "deadline": _whole_number(1),
    }
    found = {}
    for name, table in _check_kind(value, dict).items():
        inside = _check_kind(table, dict)
        settings = read_settings(inside, readers, f"[source.{name}]", ValueError, kind="key")
        found[_known_source(name)] = SourceSettings(**settings)
    return found


def _bounds(value: object) -> tuple[int, int]:
    found = [_whole_number()(number) for number in _check_kind(value, list)]
    if len(found) != 2 or found[0] > found[1]:
        raise ValueError(f"{value!r} is no pair; write [least, most]")
    return found[0], found[1]
