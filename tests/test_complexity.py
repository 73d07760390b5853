"""Linear time for input of any length: every regular expression, and the parsers of requests.

A pattern runs by the methods that its module calls, on long repetitions of its own characters. An exponential pattern
fails at 24 characters, a quadratic pattern at 32 000.
"""

import importlib
import itertools
import math
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import quote

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pipeline
import quota
import serve
import shards
from quota import credentials
from quota.ledger.people import is_email
from serve.access import call
from serve.app import PRODUCT
from serve.contract.errors import ApiError
from serve.http.router import Router
from serve.request import accept, client_address, json_body, reader, scalars
from shards.codec import folding

# Characters: an exponential pattern fails at the first size, a quadratic pattern at the last.
SIZES = (24, 2_000, 32_000)
REQUEST_BYTES = 65_536  # the most bytes of a request
MOST_SECONDS = 0.15  # of processor time; a linear pattern needs about 1 ms
# The methods of compiled patterns, as an alternative in the pattern that finds their calls.
METHODS = "match|fullmatch|search|sub|split|finditer|findall"


def _patterns() -> Iterator[tuple[str, re.Pattern[str], tuple[str, ...]]]:
    """The compiled patterns of the four rooms, and the methods that are called on them."""
    for room in (serve, shards, quota, pipeline):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            if module.name.endswith("__main__"):
                continue
            source = Path(str(importlib.util.find_spec(module.name).origin))  # type: ignore[union-attr]
            if source.suffix != ".py" or "re.compile" not in source.read_text(encoding="utf-8"):
                continue
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                    text = source.read_text(encoding="utf-8")
                    methods = tuple(sorted(set(re.findall(rf"\b{name}\.({METHODS})\(", text))))
                    yield f"{module.name}.{name}", value, methods or ("fullmatch", "search")


PATTERNS = sorted(_patterns(), key=lambda pattern: pattern[0])


def _pieces(pattern: str) -> Iterator[str]:
    """Short texts to repeat: single characters, of the pattern and others, and pairs of characters of the pattern.

    The numbers of characters and of pairs are limited, so that the test is quick.
    """
    characters = [c for c in dict.fromkeys(pattern) if c.isalnum() or c in "-._:/ @,&'\"<#;=_"][:10]
    yield from (*characters, "a", "0", " ", "é", "\t", "-")
    yield from (
        "".join(pair)
        for pair in itertools.islice(itertools.combinations([*characters, "a0"], 2), 12)
    )


def _time_of(method: Callable[..., object], name: str, text: str) -> float:
    """The shortest time that a method of a pattern (`sub`, `finditer` …) takes on a text, in seconds."""

    def run() -> None:
        """Call the method, and read its whole result."""
        matched = method("", text) if name == "sub" else method(text)
        if name == "finditer":
            list(matched)  # type: ignore[call-overload]

    return _shortest_time(run)


def _shortest_time(action: Callable[[], None]) -> float:
    """The processor seconds of an action: the shortest of up to three attempts, since a busy machine is slower."""
    shortest = math.inf
    for _ in range(3):
        since = time.thread_time()
        action()
        shortest = min(shortest, time.thread_time() - since)
        if shortest < MOST_SECONDS:
            break
    return shortest


@pytest.mark.parametrize(
    ("name", "pattern", "methods"), PATTERNS, ids=[pattern[0] for pattern in PATTERNS]
)
def test_no_pattern_takes_more_than_linear_time(
    name: str, pattern: re.Pattern[str], methods: tuple[str, ...]
) -> None:
    for size, piece, method, end in itertools.product(
        SIZES, _pieces(pattern.pattern), methods, ("", "!", "\n")
    ):
        text = (piece * size)[:size] + end
        seconds = _time_of(getattr(pattern, method), method, text)
        assert seconds < MOST_SECONDS, (
            f"{name}.{method} took {seconds:.2f} s for {size} of {piece!r} and {end!r}"
        )


def test_a_quadratic_and_an_exponential_pattern_would_fail() -> None:
    quadratic, exponential = re.compile(r"a+$"), re.compile(r"(?:a|a)+$")

    assert _time_of(quadratic.search, "search", "a" * SIZES[-1] + "!") > MOST_SECONDS
    assert _time_of(exponential.fullmatch, "fullmatch", "a" * SIZES[0] + "!") > MOST_SECONDS


_ROUTER = Router(PRODUCT.operations)
PARSERS: dict[str, Callable[[str], object]] = {
    "target": lambda text: _ROUTER.resolve("/" + text),
    "encoded query": lambda text: reader.query_pairs("q=" + quote(text, errors="replace")),
    "query": reader.query_pairs,
    "JSON body": lambda text: json_body.pairs(text.encode("utf-8", "replace")),
    "JSON value": lambda text: json_body.pairs(orjson.dumps({"q": text})),
    "number": scalars.parse_decimal,
    "whole number": scalars.parse_integer,
    "Accept": accept.qualities,
    "Accept-Language": lambda text: accept.choose_language(None, None, text),
    "If-None-Match": lambda text: call.matches(text, '"a"'),
    "X-Forwarded-For": lambda text: client_address.caller("::1", [text], [ip_network("::/0")]),
    "e-mail": is_email,
    "key": credentials.is_well_formed,
    "folding": folding.fold,
}
PIECES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4) | st.sampled_from(
    [
        "[",
        "{",
        '{"a":',
        "%",
        "%F0%9F",
        "&a=",
        ";q=",
        '"',
        "\\",
        ",",
        ".",
        "9",
        "e9",
        "a@",
        "::",
        "İ",
        "e\u0301",
    ]
)


@pytest.mark.parametrize("name", PARSERS)
@given(piece=PIECES, end=st.text(st.characters(codec="utf-8"), max_size=2))
def test_a_parser_of_requests_takes_linear_time(name: str, piece: str, end: str) -> None:
    """An invalid text is refused as fast as a valid text is parsed; a request has 64 KiB at most"""
    text = (piece * REQUEST_BYTES)[:REQUEST_BYTES] + end

    def parse() -> None:
        """Parse the text, which may be refused."""
        with suppress(ApiError, ValueError):
            PARSERS[name](text)

    seconds = _shortest_time(parse)

    assert seconds < MOST_SECONDS, f"{name} took {seconds:.2f} s for {piece!r}"
