"""A feature of the service with its operations, and the product: the features and surfaces that `serve/app.py` lists.

An operation is everything that a router, a document and a tool must know of one method of a path. Routes with 404, 405
and `Allow`, handlers, /openapi.json, the reference for people and /llms.txt follow from it.

A feature is a folder of `serve/features` that declares itself in `operations.py`. The modules beside it are read by
their names, each by the surface that shows them: `answers`, `pages`, `tools`. So are its files: `texts.csv`,
`headers.csv`, and `examples.json` with answers that `make golden` records. A surface knows no feature, and a feature
that is taken out of the list leaves nothing behind.
"""

import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final, Literal, NamedTuple

import orjson

from serve.contract import answers, company_answers
from serve.contract.declaration import Schema, component_name, component_schema, text_of
from serve.contract.errors import ApiError
from serve.contract.notation import whole_number
from serve.contract.parameters import LINES_PER_CALL, MOST_LINES, VISITOR_LINES, Parameter
from serve.contract.seed_tables import fill_prices
from serve.contract.text import TABLES, Lang, Text, feature_texts, read_rows

# How an operation is served, by serve/http/handlers.py.
Kind = Literal[
    "list",  # public, whatever the key
    "free",  # shows companies as far as the plan goes, and is not counted
    "call",  # counted
    "analysis",  # counted, and of a module of the plan
    "body",  # counted, and asked for by a JSON body
    "account",  # free, and of the account alone
    "check",  # the state of the process
    "metrics",
    "reconciliation",  # counted, in a protocol of its own
    "file",  # a search as a file
    "document",  # a page of the documentation
    "tools",  # MCP, which describes itself and is no operation of /openapi.json
]
# Of the 12 kinds these read no key.
_KEYLESS: Final = ("list", "check", "metrics", "document")
# Another text of the table, by its name.
_QUOTED: Final = re.compile(r"\{texte\.(\w+)\}")

_API: Final = "/api/v1/"
RECORD_PATH: Final = "/api/v1/societes/{iso}/{id}"


class Link(NamedTuple):
    """A call that can be made with values of an answer (OpenAPI §4.8.20): by parameter, the place of its value."""

    name: str
    operation: str
    given: Mapping[str, str]


def company_link(place: str) -> Link:
    """The record of the company at a place of an answer."""
    given = {"iso": f"$response.body#/{place}/iso2", "id": f"$response.body#/{place}/id"}
    return Link("company", "readCompany", given)


class BodyExample(NamedTuple):
    """A body that can be sent; `summary` describes its request."""

    name: str
    summary: Text
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of a path.

    Attributes:
        id: its `operationId`.
        path: with the names of its variable parts: `/api/v1/societes/{iso}/{id}`.
        route: the name of the path in metrics, logs and examples.
        run: makes the answer. Of the first five kinds it takes the request and a generation and returns a
            `PreparedCall`, of a list a result. Of the others it takes the request; that of an account returns a
            result, all others a response.
        answer: the object of a 200, where it is JSON.
        refused: the object of a 401 that has what a visitor gets beside the error (§5 rule 4).
        unavailable: the object of a 503 that has what is shown while nothing can be counted.
        account: only accounts have an answer.
        parameters: those of the query.
        path_parameters: the variable parts of its path, in their order.
        body: the object of a body that is JSON, or a form in the protocol of reconciliation.
        bodies: examples of a body.
        largest: bytes of a body.
        media: the media types of a 200 that is no object of ours.
        credits: what is paid, by its name in `prices`; "" for nothing.
        headers: those of a 200 beside those of its kind.
        refusals: statuses of errors beside those of its kind.
        links: calls that can be made with values of the answer.
        accepts: headers that a browser may send; none for those of the API.
        opened: a browser of any origin may read its answers (G2), as it may those under /api/v1.
        head: HEAD is answered as well (G1).
        tool: its name among the tools for language models; "" for none.
        text: the name of its texts in `texts.csv` of its feature, where that is not `id`.
        place: documents show operations in the order of their places; a new one stands last.
        key_in_path: the path may name an account, so a caller without a header need not be a visitor.
    """

    id: str
    path: str
    route: str
    kind: Kind
    tag: str
    run: Callable[..., Any] | None = None
    answer: Any = None
    refused: Any = None
    unavailable: Any = None
    method: Literal["GET", "POST"] = "GET"
    account: bool = False
    parameters: tuple[Parameter, ...] = ()
    path_parameters: Sequence[Parameter] = ()
    body: Any = None
    bodies: Sequence[BodyExample] = ()
    largest: int | None = None
    media: Sequence[str] = ()
    credits: str = ""
    headers: Sequence[str] = ()
    refusals: Sequence[int] = ()
    links: Sequence[Link] = ()
    accepts: Sequence[str] = ()
    opened: bool = False
    head: bool = True
    tool: str = ""
    text: str = ""
    place: int = 1_000
    key_in_path: bool = False

    @property
    def summary(self) -> Text:
        """What it does, as a title."""
        return _text(self.text or self.id, "summary")

    @property
    def description(self) -> Text:
        """What it does, in sentences."""
        return _text(self.text or self.id, "description")

    @property
    def key(self) -> Literal["", "optional", "required"]:
        """Whether a key is not read, understood or needed."""
        return "" if self.kind in _KEYLESS else "required" if self.account else "optional"

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variable parts of the path.

        >>> Operation("", "/societes/{iso}/{id}", "", "call", "").variables
        ('iso', 'id')
        """
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


@cache
def _text(name: str, part: str) -> Text:
    return Text(_fill(name, part, "fr"), _fill(name, part, "en"))


def _fill(name: str, part: str, lang: Lang) -> str:
    """A text with its figures, and with the other texts that it quotes."""
    text = fill_prices(feature_texts()[name, part].in_language(lang))
    figures = {
        "most_lines": MOST_LINES,
        "lines_per_call": LINES_PER_CALL,
        "visitor_lines": VISITOR_LINES,
    }
    for figure, value in figures.items():
        text = text.replace(f"{{{figure}}}", whole_number(value, lang))
    return _QUOTED.sub(lambda quoted: _fill(quoted[1], part, lang), text)


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
        return ApiError("route_inconnue", path=path[:100], routes=", ".join(dict.fromkeys(below)))

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


def component_schemas(lang: Lang, product: Product | None = None) -> dict[str, Schema]:
    """The schemas by name, with texts in `lang`: those of several features, then answers and bodies of the product."""
    of_features = product.modules("answers") if product else ()
    bodies = [one.body for one in product.operations if one.body] if product else []
    kinds = {
        name: kind
        for module in (answers, company_answers, *of_features)
        for kind in vars(module).values()
        if (name := component_name(kind)) and text_of(kind)  # else it is described elsewhere
    }
    kinds |= {component_name(kind): kind for kind in sorted(bodies, key=component_name)}
    return {name: component_schema(kind, lang) for name, kind in kinds.items()}
