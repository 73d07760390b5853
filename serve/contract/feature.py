"""A feature of the service, and the product: the features and surfaces that `serve/app.py` lists.

A feature is a folder of `serve/features` that declares itself in `operations.py`. The modules beside it are read by
their names, each by the surface that shows them: `answers`, `pages`, `tools`. So are its files: `texts.csv`,
`headers.csv`, and `examples.json` with answers that `make golden` records. A surface knows no feature, and a feature
that is taken out of the list leaves nothing behind.
"""

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Annotated, Any, Final, NamedTuple, get_args, get_origin

import orjson

from serve.contract import answers, company_answers, errors, record_answers
from serve.contract.declaration import Component, Schema, component_name, component_schema
from serve.contract.errors import ApiError
from serve.contract.operation import Operation
from serve.contract.text import TABLES, Lang, Text, read_rows

_API: Final = "/api/v1/"


class OpenFeature(NamedTuple):
    """The work of a feature in a process that serves.

    Attributes:
        background: runs beside requests, until it is cancelled.
        begin: runs once, when the process takes requests.
        close: ends it.
        site: answers all paths that are no operation (`serve.http.app.Site`).
    """

    background: Callable[[], Coroutine[Any, Any, None]] | None = None
    begin: Callable[[], Coroutine[Any, Any, None]] | None = None
    close: Callable[[], Coroutine[Any, Any, None]] | None = None
    site: Any = None


class Feature(NamedTuple):
    """A capability of the service, or a surface that shows the others.

    Attributes:
        package: its folder, `serve.features.search`.
        open: opens it in a process, with the context and the burst limiter; most have nothing to open.
        guides: the slugs of its guides, `templates/docs/guides/{slug}.html`, with their places among all guides.
    """

    package: str
    operations: tuple[Operation, ...] = ()
    open: Callable[[Any, Any], OpenFeature] | None = None
    guides: Mapping[str, int] = MappingProxyType({})

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.package.rpartition(".")[2]


class Example(NamedTuple):
    """A recorded answer of a route (`Operation.route`); `summary` describes the request."""

    route: str
    status: int
    place: int
    summary: Text
    value: Any


class Product:
    """Features and the surfaces that show them. Equal to itself alone, so that documents are made once for each."""

    def __init__(self, features: Sequence[Feature], surfaces: Sequence[Feature]) -> None:
        self.features = tuple(features)
        self.surfaces = tuple(surfaces)

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """The operations in the order in which documents show them."""
        listed = [one for part in (*self.features, *self.surfaces) for one in part.operations]
        return tuple(sorted(listed, key=lambda operation: operation.place))

    def operation(self, name: str) -> Operation | None:
        """The operation with this id; None where its feature is left out."""
        return next((one for one in self.operations if one.id == name), None)

    @cached_property
    def examples(self) -> dict[str, Example]:
        """The answers in `examples.json` of features by name, in the order of their places."""
        entries = {
            name: Example(**{**entry, "summary": Text(**entry["summary"])})
            for folder in self.folders()
            if (file := folder / "examples.json").exists()
            for name, entry in orjson.loads(file.read_bytes()).items()
        }
        return dict(sorted(entries.items(), key=lambda entry: entry[1].place))

    @cached_property
    def headers(self) -> tuple[dict[str, str], ...]:
        """The response headers (§2.2, §4.6, contract D3, D11, F7, G7 to G10): shared ones, then those of features."""
        folders = [
            folder for folder in (TABLES, *self.folders()) if (folder / "headers.csv").exists()
        ]
        return tuple(row for folder in folders for row in read_rows(folder / "headers.csv"))

    def unknown_path(self, path: str) -> ApiError:
        """The error 404 of a path that is neither an operation nor a page: it names the paths below /api/v1."""
        below = (
            one.path.removeprefix(_API).split("/")[0]
            for one in self.operations
            if one.path.startswith(_API)
        )
        return errors.route_inconnue(path, tuple(dict.fromkeys(below)))

    def has(self, path: str) -> bool:
        """Whether an operation has this path."""
        return any(one.path == path for one in self.operations)

    def folders(self) -> Iterator[Path]:
        """The folders of features and surfaces."""
        for part in (*self.features, *self.surfaces):
            spec = find_spec(part.package)
            assert spec and spec.submodule_search_locations
            yield Path(spec.submodule_search_locations[0])

    def modules(self, name: str) -> Iterator[ModuleType]:
        """The modules called `name` in the folders of features and surfaces, in the order of these."""
        for part in (*self.features, *self.surfaces):
            if find_spec(f"{part.package}.{name}"):
                yield import_module(f"{part.package}.{name}")


_MODULES: Final = (answers, company_answers, record_answers)


def component_schemas(lang: Lang, product: Product | None = None) -> dict[str, Schema]:
    """The schemas by name, with texts in `lang`: those of several features, then answers and bodies of the product."""
    operations, of_features = (
        (product.operations, product.modules("answers")) if product else ((), ())
    )
    bodies = {name: one.body for one in operations if (name := component_name(one.body))}
    kinds = [
        *(named for module in (*_MODULES, *of_features) for named in _declarations(module)),
        *sorted(bodies.items()),
    ]
    return {name: component_schema(kind, lang) for name, kind in kinds}


def _declarations(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module declares: classes, and types that have a name."""
    for value in vars(module).values():
        if (name := component_name(value)) and value.__module__ == module.__name__:
            yield name, value
        elif get_origin(value) is Annotated:
            _, *notes = get_args(value)
            if any(isinstance(one, Text) for one in notes):  # else it is described elsewhere
                yield from ((one.name, value) for one in notes if isinstance(one, Component))
