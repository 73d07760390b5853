"""An operation: everything that a router, a document and a tool must know of one method of a path. Pure.

Each feature declares its own in `operations.py`. Routes with 404, 405 and `Allow`, handlers, /openapi.json, the
reference for people and /llms.txt follow.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from serve.contract.notation import whole_number
from serve.contract.parameters import LINES_PER_CALL, MOST_LINES, VISITOR_LINES, Parameter
from serve.contract.seed_tables import fill_prices
from serve.contract.text import Lang, Text, feature_texts

# How an operation is served: a handler each, in serve/http/handlers.py; the last four bring their own.
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
        run: what makes the answer, with the arguments that its kind has; those of the last four kinds take the
            HTTP request.
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
