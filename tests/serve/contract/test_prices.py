"""Prices are in a table of `seeds/`: sentences of the server have a placeholder, and no number, for a price."""

import csv
import re

from serve.app import PRODUCT
from serve.contract import seed_tables
from serve.contract.parameters import LINES_PER_CALL
from serve.surfaces.docs import document, llms
from serve.surfaces.mcp.tool_list import tools
from tests import ROOT
from tests.serve.conformance import DOCUMENT

# A number before "credits", also across a line break in the source.
CREDITS_IN_TEXT = re.compile(r'\b(\d+)[ "\n]+cr[eé]dits\b')
# The credits of a record, of the analysis of a company and of the analysis of a market (§4.5, X11).
PRICES = {"5", "10", "25"}


def texts_with_prices() -> str:
    """All texts with prices, for programs and people."""
    tool_texts = [str(tool.definition) for tool in tools(PRODUCT).values()]
    french = str(document.document(PRODUCT, lang="fr"))
    return "\n".join([str(DOCUMENT), french, llms.summary(PRODUCT, "https://x"), *tool_texts])


def test_the_prices_are_those_of_the_specification() -> None:
    """§4.5, X0, X11"""
    with (ROOT / "seeds" / "analyses.csv").open(encoding="utf-8", newline="") as file:
        modules = {row["module"]: row["credits"] for row in csv.DictReader(file)}

    assert modules == {"entreprise": "10", "marche": "25"}
    assert seed_tables.RECORD_CREDITS == 5


def test_prices_replace_all_placeholders_of_texts() -> None:
    """C5: a placeholder of a price begins with `prix`"""
    text = texts_with_prices()

    assert set(CREDITS_IN_TEXT.findall(text)) == PRICES
    assert "{prix" not in text


def test_no_sentence_of_the_server_contains_a_price() -> None:
    """C5: so a price is changed in one place"""
    sources = [
        path for ending in ("py", "csv", "html") for path in (ROOT / "serve").rglob(f"*.{ending}")
    ]
    prices = {
        path.name: numbers
        for path in sources
        if (numbers := CREDITS_IN_TEXT.findall(path.read_text(encoding="utf-8")))
    }

    assert prices == {"seed_tables.py": ["5"]}  # its doctest


def test_the_readme_of_quota_has_every_counted_route_and_every_price() -> None:
    """X0.6, X11"""
    text = (ROOT / "quota" / "README.md").read_text(encoding="utf-8")
    # The README names a route by the last part of its path, after `/api/v1/` (8 characters) and without variables.
    routes = {
        [part.strip("/") for part in re.split(r"\{\w+\}", operation.path[8:]) if part.strip("/")][
            -1
        ]
        for operation in PRODUCT.operations
        if operation.kind in ("call", "analysis", "body")
    }
    row = next(line for line in text.splitlines() if line.startswith("| credits"))

    assert routes > {"societes", "comparables", "analyses/marche"}
    assert {name for name in routes if f"`{name}`" not in text} == set()
    assert f"each {LINES_PER_CALL} lines" in text
    assert set(re.findall(r"\d+", row)) == PRICES


def test_the_readme_has_the_price_of_a_record() -> None:
    assert CREDITS_IN_TEXT.findall((ROOT / "README.md").read_text(encoding="utf-8")) == [
        str(seed_tables.RECORD_CREDITS)
    ]
