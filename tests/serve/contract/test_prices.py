"""Prices stand in one table; no sentence of the server has a number of its own."""

import csv
import re

from serve.app import PRODUCT
from serve.contract import seed_tables
from serve.contract.parameters import LINES_PER_CALL
from serve.surfaces.docs import document, llms
from serve.surfaces.mcp.tool_list import tools
from tests import ROOT
from tests.serve.conformance import DOCUMENT

# A number before "credits"; a text of the source may break between the two.
TYPED = re.compile(r'\b(\d+)[ "\n]+cr[eé]dits\b')
ALL = {"5", "10", "25"}  # §4.5, X11


def said() -> str:
    """The texts for programs and for people that have prices."""
    described = [str(tool.definition) for tool in tools(PRODUCT).values()]
    french = str(document.document(PRODUCT, lang="fr"))
    return "\n".join([str(DOCUMENT), french, llms.summary(PRODUCT, "https://x"), *described])


def test_the_prices_are_those_of_the_specification() -> None:
    """§4.5, X0, X11"""
    with (ROOT / "seeds" / "analyses.csv").open(encoding="utf-8", newline="") as file:
        modules = {row["module"]: row["credits"] for row in csv.DictReader(file)}

    assert modules == {"entreprise": "10", "marche": "25"}
    assert seed_tables.RECORD_CREDITS == 5


def test_every_text_has_its_price_filled_in() -> None:
    """C5: no placeholder is served."""
    text = said()

    assert set(TYPED.findall(text)) == ALL
    assert "{prix" not in text


def test_no_sentence_of_the_server_types_a_price() -> None:
    """C5: a price that changes, changes in one place."""
    sources = [
        path for ending in ("py", "csv", "html") for path in (ROOT / "serve").rglob(f"*.{ending}")
    ]
    typed = {
        path.name: found
        for path in sources
        if (found := TYPED.findall(path.read_text(encoding="utf-8")))
    }

    assert typed == {"seed_tables.py": ["5"]}  # its doctest


def test_the_readme_of_quota_has_every_counted_route_and_every_price() -> None:
    """X0.6, X11"""
    text = (ROOT / "quota" / "README.md").read_text(encoding="utf-8")
    routes = {
        [part.strip("/") for part in re.split(r"\{\w+\}", one.path[8:]) if part.strip("/")][-1]
        for one in PRODUCT.operations
        if one.kind in ("call", "analysis", "body")
    }
    row = next(line for line in text.splitlines() if line.startswith("| credits"))

    assert routes > {"societes", "comparables", "analyses/marche"}
    assert {name for name in routes if f"`{name}`" not in text} == set()
    assert f"each {LINES_PER_CALL} lines" in text
    assert set(re.findall(r"\d+", row)) == ALL


def test_the_readme_has_the_price_of_a_record() -> None:
    assert TYPED.findall((ROOT / "README.md").read_text(encoding="utf-8")) == [
        str(seed_tables.RECORD_CREDITS)
    ]
