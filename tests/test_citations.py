"""Every path, decision, section and rule that a document, a docstring or a comment cites exists.

The checked forms: `serve/http/app.py`, `serve.http.app`, `FORMAT.md`, "decision 044",
"§8.1" of the specification, "FORMAT.md §10", and rules as "B19" (seeds/spec/contract.md) or "X3"
(seeds/spec/extensions.md). A section of another standard follows its name: "RFC 9110 §12.5.1".
"""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests import ROOT
from tests.prose import DOCUMENTS, FOLDERS, ROOMS, SPECIFICATION, expect_none, modules, name, prose

_ROOTS: Final = "|".join((*FOLDERS, "requirements", r"\.ci"))
_PATH: Final = re.compile(rf"(?<![\w/.<{{~-])(?:{_ROOTS})/[\w./*-]*[\w*]")
_FILE: Final = re.compile(r"(?<![\w/.*<>{}-])[\w-]+\.(?:py|md|lua|lock)\b")
_MODULE: Final = re.compile(rf"(?<![\w/.@-])(?:{'|'.join(FOLDERS)})(?:\.\w+)+(?![\w/]|\.\w)")
_DECISION: Final = re.compile(r"\b(?:[Dd]ecisions?|ADRs?)\s+(\d{3})\b")
_RULE: Final = re.compile(r"(?<![\w§.-])([A-G]\d{1,2}|X\d{1,2})(?!\w|\.\d)")
_SECTION: Final = re.compile(r"§\s?(\d+(?:\.\d+)*)")
# Other standards and our format, with the sections that follow their names.
_OTHER_STANDARD: Final = re.compile(
    r"(RFC \d+|Fetch|OpenAPI|JSON-RPC 2\.0|FORMAT\.md)\s+((?:§\s?\d+(?:\.\d+)*(?:,\s)?)+)"
)
_FORMAT: Final = ROOT / "shards" / "FORMAT.md"

SOURCES: Final = [*DOCUMENTS, *modules(*FOLDERS)]
# The number of rules of the contract, A1 to G11.
RULES: Final = 98
# Names of data files that read like modules.
DATA_FILES: Final = frozenset({"quota.lmdb"})


def test_every_path_that_is_cited_exists() -> None:
    files = {
        path.name for folder in (*FOLDERS, "requirements") for path in (ROOT / folder).rglob("*")
    }
    files |= {path.name for path in ROOT.iterdir()}

    expect_none(
        (name(source), path)
        for source in SOURCES
        for path in _PATH.findall(prose(source))
        if not _exists(path)
    )
    expect_none(
        (name(source), file)
        for source in SOURCES
        for file in _FILE.findall(prose(source))
        if file not in files
    )


def test_every_module_that_is_cited_exists() -> None:
    expect_none(
        (name(source), dotted)
        for source in SOURCES
        for dotted in _MODULE.findall(prose(source))
        if dotted not in DATA_FILES and not _is_defined(dotted)
    )


def test_every_decision_that_is_cited_exists_once() -> None:
    numbers = [
        number
        for room in ROOMS
        for number in re.findall(r"^## (\d{3}) ", _text(ROOT / room / "DECISIONS.md"), re.MULTILINE)
    ]

    expect_none((number,) for number in set(numbers) if numbers.count(number) > 1)
    expect_none(_unknown_citations(_DECISION, existing=numbers))


def test_every_rule_that_is_cited_is_in_the_contract_or_the_extensions() -> None:
    contract = re.findall(r"^\| ([A-G]\d+) \|", _text(SPECIFICATION / "contract.md"), re.MULTILINE)
    extensions = re.findall(r"^## (X\d+) ", _text(SPECIFICATION / "extensions.md"), re.MULTILINE)

    assert len(contract) == RULES
    expect_none(_unknown_citations(_RULE, existing=[*contract, *extensions]))


def test_every_section_that_is_cited_is_in_the_specification() -> None:
    text = _text(SPECIFICATION / "company-database-api.md")
    sections = re.findall(r"^##+ (\d(?:\.\d)?)\.? ", text, re.MULTILINE)

    expect_none(_unknown_citations(_SECTION, existing=sections, without=_OTHER_STANDARD))


def test_every_section_of_the_format_that_is_cited_is_there() -> None:
    sections = set(re.findall(r"^##+ (\d+(?:\.\d+)?)\.? ", _text(_FORMAT), re.MULTILINE))

    expect_none(
        (name(source), section)
        for source in SOURCES
        for standard, listed in _OTHER_STANDARD.findall(prose(source))
        for section in _SECTION.findall(listed)
        if standard == "FORMAT.md" and section not in sections
    )


@pytest.mark.parametrize(
    ("text", "rules", "sections"),
    [
        ("(contract B10, §8.1)", ["B10"], ["8.1"]),
        ("RFC 9110 §15.5.9, §15.6; RFC 6585 §4 and § 8.2 rule 4", [], ["8.2"]),
        ("E1–E3, UTF8, B2B, 3C9, X12.", ["E1", "E3", "X12"], []),
    ],
)
def test_citations_are_distinguished_from_similar_texts(
    text: str, rules: list[str], sections: list[str]
) -> None:
    assert _RULE.findall(text) == rules
    assert _SECTION.findall(_OTHER_STANDARD.sub("", text)) == sections


def _unknown_citations(
    form: re.Pattern[str], existing: Collection[str], without: re.Pattern[str] | None = None
) -> Iterator[tuple[str, str]]:
    """The citations of this form whose number is not in `existing`, with their sources."""
    for source in SOURCES:
        text = without.sub("", prose(source)) if without else prose(source)
        for number in form.findall(text):
            if number not in existing:
                yield name(source), number


def _exists(path: str) -> bool:
    """Whether a cited path exists; it may have a `*`, or be a module without the ending of its file."""
    if "*" in path:
        return any(True for _ in ROOT.glob(path))
    return (ROOT / path).exists() or (ROOT / f"{path}.py").exists()


def _is_defined(dotted: str) -> bool:
    """Whether dotted names are a package, a module, or a name at the top of a module."""
    parts = dotted.split(".")
    folder = ROOT / parts[0]
    for depth, part in enumerate(parts[1:], 1):
        if (folder / part).is_dir():
            folder = folder / part
        elif (file := folder / f"{part}.py").exists():
            names_below = parts[depth + 1 :]
            return not names_below or _mentions(file, names_below[0])
        else:
            return depth == len(parts) - 1 and _mentions(folder / "__init__.py", part)
    return True


def _mentions(module: Path, word: str) -> bool:
    """Whether a line of the module begins with the word, or with its definition."""
    return (
        re.search(rf"^(?:def|class|async def)? ?{word}\b", _text(module), re.MULTILINE) is not None
    )


def _text(path: Path) -> str:
    """The text of a file, empty if there is no file."""
    return path.read_text(encoding="utf-8") if path.exists() else ""
