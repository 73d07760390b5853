"""A feature of the service with its operations, and the product: the features and surfaces that `serve/app.py` lists.

An operation declares one method of a path, for routers, documents and tools. Routes with 404, 405 and `Allow`,
handlers, /openapi.json, the reference for people and /llms.txt follow from it.

A feature is a folder of `serve/features` that declares itself in `operations.py`. Surfaces import its modules by name:
`answers`, `pages`, `tools`. Its files are read by name too: `texts.csv`, `headers.csv`, and `examples.json` with
answers that `make golden` records. A surface imports no feature, and no other code refers to a feature, so a feature
can be removed from the list.
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

from serve.contract import answers, record_answers
from serve.contract.declaration import JsonSchema, component_name, component_schema, text_of
from serve.contract.errors import ApiError
from serve.contract.notation import whole_number
from serve.contract.parameters import LINES_PER_CALL, MOST_LINES, VISITOR_LINES, Parameter
from serve.contract.seed_tables import fill_prices
from serve.contract.text import TABLES, Lang, Text, feature_texts, read_rows

# How an operation is served, by serve/http/handlers.py.
OperationKind = Literal[
    "list",  # public; keys are not read
    "free",  # companies within the limits of the plan; not counted
    "call",  # counted
    "analysis",  # counted; the plan needs a module, or trials
    "body",  # counted, with its parameters in a JSON body
    "account",  # not counted; returns only data of the account
    "check",  # the state of the process
    "metrics",
    "reconciliation",  # counted, in the protocol of OpenRefine
    "file",  # a search as a file
    "document",  # a page of the documentation
    "tools",  # MCP, which describes itself and is not an operation of /openapi.json
]
# The kinds that read no key.
_KEYLESS: Final = ("list", "check", "metrics", "document")
# A placeholder for the text of another operation, by its name.
_QUOTED: Final = re.compile(r"\{texte\.(\w+)\}")

_API: Final = "/api/v1/"  # begins the paths of the API
RECORD_PATH: Final = "/api/v1/societes/{iso}/{id}"


class Link(NamedTuple):
    """A call that takes values of an answer as arguments (OpenAPI §4.8.20).

    Attributes:
        operation: the id of the operation to call.
        arguments: the place of each value in the answer, by parameter.
    """

    name: str
    operation: str
    arguments: Mapping[str, str]


def company_link(place: str) -> Link:
    """The link to the record of a company; `place` is the JSON pointer of the company in the answer, without `/`."""
    arguments = {"iso": f"$response.body#/{place}/iso2", "id": f"$response.body#/{place}/id"}
    return Link("company", "readCompany", arguments)


class BodyExample(NamedTuple):
    """An example of a body; `summary` describes the request."""

    name: str
    summary: Text
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of a path.

    Attributes:
        id: the `operationId`.
        path: the path with the names of its variable parts: `/api/v1/societes/{iso}/{id}`.
        route: the name of the path in metrics, logs and examples.
        run: the function that answers. For the first five kinds it takes the request and a generation; it returns a
            `PreparedCall`, or for a list a `Result`. For the other kinds it takes the request; for an account it
            returns a `Result`, for the others a `Response`.
        answer: the object of a 200 that is JSON.
        refused: the object of a 401 with a visitor's answer in addition to the error (§5 rule 4).
        unavailable: the object of a 503 with an answer in addition to the error, while nothing can be counted.
        account: the operation needs an account.
        parameters: the parameters of the query.
        path_parameters: the variable parts of the path, in order.
        body: the object of a JSON body, or of a form in the protocol of reconciliation.
        bodies: examples of a body.
        largest: the most bytes of a body.
        media: the media types of a 200 that is not JSON of this API.
        credits: the name of the price, `fiche` or a module of analyses (`seed_tables`); "" if no credits are charged.
        headers: the headers of a 200, in addition to the headers of its kind.
        refusals: the statuses of errors, in addition to the statuses of its kind.
        links: calls with values of the answer as arguments.
        accepts: the request headers that a browser may send; empty for the headers of the API.
        opened: a browser of any origin may read its answers (G2), as under /api/v1.
        head: HEAD is answered too (G1).
        tool: the name of the operation's tool for language models; "" if it has no tool.
        text: the name of its texts in `texts.csv` of its feature, if that is not `id`.
        place: the position in documents, which show operations in this order; a new operation comes last.
        key_in_path: the path can identify an account, so a caller without an Authorization header may have one.
    """

    id: str
    path: str
    route: str
    kind: OperationKind
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
        """The title of the operation in documents."""
        return _operation_text(self.text or self.id, "summary")

    @property
    def description(self) -> Text:
        """The description of the operation in documents, in sentences."""
        return _operation_text(self.text or self.id, "description")

    @property
    def key(self) -> Literal["", "optional", "required"]:
        """Whether the operation ignores a key (""), accepts one or requires one."""
        return "" if self.kind in _KEYLESS else "required" if self.account else "optional"

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variable parts of the path.

        >>> Operation("", "/societes/{iso}/{id}", "", "call", "").variables
        ('iso', 'id')
        """
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


@cache
def _operation_text(name: str, part: str) -> Text:
    """The part `summary` or `description` of an operation's texts."""
    return Text(_fill_in(name, part, "fr"), _fill_in(name, part, "en"))


def _fill_in(name: str, part: str, lang: Lang) -> str:
    """A part of an operation's texts in one language, with prices, figures and texts of other operations filled in."""
    text = fill_prices(feature_texts()[name, part].translation(lang))
    figures = {
        "most_lines": MOST_LINES,
        "lines_per_call": LINES_PER_CALL,
        "visitor_lines": VISITOR_LINES,
    }
    for figure, value in figures.items():
        text = text.replace(f"{{{figure}}}", whole_number(value, lang))
    # `{texte.NAME}` stands for the same part of the operation NAME.
    return _QUOTED.sub(lambda quoted: _fill_in(quoted[1], part, lang), text)


class OpenFeature(NamedTuple):
    """The work of a feature in a serving process.

    Attributes:
        background: runs between requests until it is cancelled.
        begin: runs once, when the process begins to take requests.
        close: ends the work.
        site: answers all paths that belong to no operation (`serve.http.app.Site`).
    """

    background: Callable[[], Coroutine[Any, Any, None]] | None = None
    begin: Callable[[], Coroutine[Any, Any, None]] | None = None
    close: Callable[[], Coroutine[Any, Any, None]] | None = None
    site: Any = None


class Feature(NamedTuple):
    """A capability of the service, or a surface that shows the capabilities.

    Attributes:
        package: its folder, `serve.features.search`.
        open: opens the feature in a process, with the context and the burst limiter; most features have no `open`.
        guides: the slugs of its guides, `templates/docs/guides/{slug}.html`, with their positions among all guides.
    """

    package: str
    operations: tuple[Operation, ...] = ()
    open: Callable[[Any, Any], OpenFeature] | None = None
    guides: Mapping[str, int] = MappingProxyType({})

    @property
    def name(self) -> str:
        """The name of the feature, which is that of its folder."""
        return self.package.rpartition(".")[2]


class Example(NamedTuple):
    """A recorded answer of a route (`Operation.route`).

    Attributes:
        place: the position among all examples in documents.
        summary: describes the request.
        value: the JSON of the answer.
    """

    route: str
    status: int
    place: int
    summary: Text
    value: Any


class Product:
    """Features and surfaces. Products are compared by identity, so that caches of documents have one entry for each."""

    def __init__(self, features: Sequence[Feature], surfaces: Sequence[Feature]) -> None:
        self.features = tuple(features)
        self.surfaces = tuple(surfaces)

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """The operations in the order of documents."""
        operations = [
            operation
            for feature in (*self.features, *self.surfaces)
            for operation in feature.operations
        ]
        return tuple(sorted(operations, key=lambda operation: operation.place))

    def operation(self, name: str) -> Operation | None:
        """The operation with this id; None if its feature is not in the product."""
        return next((operation for operation in self.operations if operation.id == name), None)

    @cached_property
    def examples(self) -> dict[str, Example]:
        """The recorded answers in `examples.json` of features, by name, in the order of `place`."""
        entries = {
            name: Example(**{**entry, "summary": Text(**entry["summary"])})
            for folder in self.folders()
            if (file := folder / "examples.json").exists()
            for name, entry in orjson.loads(file.read_bytes()).items()
        }
        return dict(sorted(entries.items(), key=lambda entry: entry[1].place))

    @cached_property
    def headers(self) -> tuple[dict[str, str], ...]:
        """The response headers (§2.2, §4.6, contract D3, D11, F7, G7 to G10): shared headers, then by feature."""
        folders = [
            folder for folder in (TABLES, *self.folders()) if (folder / "headers.csv").exists()
        ]
        return tuple(row for folder in folders for row in read_rows(folder / "headers.csv"))

    def unknown_path(self, path: str) -> ApiError:
        """The 404 of a path that is neither an operation nor a page; its message lists the paths below /api/v1."""
        names = (
            operation.path.removeprefix(_API).split("/")[0]
            for operation in self.operations
            if operation.path.startswith(_API)
        )
        return ApiError("route_inconnue", path=path[:100], routes=", ".join(dict.fromkeys(names)))

    def has(self, path: str) -> bool:
        """Whether an operation has this path."""
        return any(operation.path == path for operation in self.operations)

    def folders(self) -> Iterator[Path]:
        """The folders of features and surfaces."""
        for feature in (*self.features, *self.surfaces):
            spec = find_spec(feature.package)
            assert spec and spec.submodule_search_locations
            yield Path(spec.submodule_search_locations[0])

    def modules(self, name: str) -> Iterator[ModuleType]:
        """The modules `name` in the folders of features and surfaces, in their order."""
        for feature in (*self.features, *self.surfaces):
            if find_spec(f"{feature.package}.{name}"):
                yield import_module(f"{feature.package}.{name}")


def component_schemas(lang: Lang, product: Product | None = None) -> dict[str, JsonSchema]:
    """The schemas by name, with texts in `lang`: shared objects, then answers by feature, then bodies."""
    feature_modules = product.modules("answers") if product else ()
    bodies = (
        [operation.body for operation in product.operations if operation.body] if product else []
    )
    kinds = {
        name: kind
        for module in (answers, record_answers, *feature_modules)
        for kind in vars(module).values()
        if (name := component_name(kind))
        and text_of(kind)  # a component without a text is described elsewhere
    }
    kinds |= {component_name(kind): kind for kind in sorted(bodies, key=component_name)}
    return {name: component_schema(kind, lang) for name, kind in kinds.items()}
