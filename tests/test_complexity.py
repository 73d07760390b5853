"""Time that grows with the length of what strangers send, and no faster: every pattern, and the parsers of requests.

A pattern is tried in the ways in which its module uses it, on strings that are pumped from its own characters.
An exponential one fails at 24 characters, a quadratic one at 32 000.
"""

import importlib
import itertools
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

SIZES = (24, 2_000, 32_000)
MOST_TEXT = 65_536
MOST_SECONDS = 0.15  # of processor time; a linear pattern needs about 1 ms
WAYS = "match|fullmatch|search|sub|split|finditer|findall"


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
                    used = tuple(sorted(set(re.findall(rf"\b{name}\.({WAYS})\(", text))))
                    yield f"{module.name}.{name}", value, used or ("fullmatch", "search")


PATTERNS = sorted(_patterns(), key=lambda one: one[0])


def _pumps(pattern: str) -> Iterator[str]:
    """Short pieces of a pattern's own characters."""
    own = [c for c in dict.fromkeys(pattern) if c.isalnum() or c in "-._:/ @,&'\"<#;=_"][:10]
    yield from (*own, "a", "0", " ", "é", "\t", "-")
    yield from (
        "".join(pair) for pair in itertools.islice(itertools.combinations([*own, "a0"], 2), 12)
    )


def _attempt(method: Callable[..., object], way: str, text: str) -> float:
    """The seconds that a method takes; of a machine that others use, the shortest of three long attempts."""
    took = 0.0
    for attempt in range(3):
        since = time.thread_time()
        matched = method("", text) if way == "sub" else method(text)
        if way == "finditer":
            list(matched)  # type: ignore[call-overload]
        spent = time.thread_time() - since
        took = min(took, spent) if attempt else spent
        if took < MOST_SECONDS:
            break
    return took


@pytest.mark.parametrize(("name", "pattern", "ways"), PATTERNS, ids=[one[0] for one in PATTERNS])
def test_no_pattern_takes_more_than_linear_time(
    name: str, pattern: re.Pattern[str], ways: tuple[str, ...]
) -> None:
    for size, pump, way, end in itertools.product(
        SIZES, _pumps(pattern.pattern), ways, ("", "!", "\n")
    ):
        text = (pump * size)[:size] + end
        took = _attempt(getattr(pattern, way), way, text)
        assert took < MOST_SECONDS, (
            f"{name}.{way} took {took:.2f} s for {size} of {pump!r} and {end!r}"
        )


def test_a_quadratic_and_an_exponential_pattern_would_fail() -> None:
    quadratic, exponential = re.compile(r"a+$"), re.compile(r"(?:a|a)+$")

    assert _attempt(quadratic.search, "search", "a" * SIZES[-1] + "!") > MOST_SECONDS
    assert _attempt(exponential.fullmatch, "fullmatch", "a" * SIZES[0] + "!") > MOST_SECONDS


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
    """What it refuses, it refuses as fast; a request has 64 KiB at most"""
    text = (piece * MOST_TEXT)[:MOST_TEXT] + end

    since = time.thread_time()
    with suppress(ApiError, ValueError):
        PARSERS[name](text)
    took = time.thread_time() - since

    assert took < MOST_SECONDS, f"{name} took {took:.2f} s for {piece!r}"
