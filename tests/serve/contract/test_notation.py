"""Numbers and dates have the same notation everywhere in the server."""

import pytest

from serve.contract import notation
from serve.features.export.workbook.labels import Labels
from serve.surfaces.site.formatting import Formatting
from tests import ROOT

# Code that contains one of these formats numbers (narrow spaces) or dates (names of months).
NOTATION_MARKS = ("\\u202f", "\u202f", "janv", "Jan")


def test_no_other_module_formats_numbers_and_dates() -> None:
    """Exceptions: a pattern of OpenAPI that lists all spaces, and a reader of dates. Doctests are skipped."""
    exceptions = {"serve/surfaces/docs/document.py", "serve/request/scalars.py"}
    modules = set()
    for path in (ROOT / "serve").rglob("*.py"):
        code = [line for line in path.read_text(encoding="utf-8").splitlines()
                if not line.lstrip().startswith((">>>", "('", "'"))]  # fmt: skip
        if any(mark in line for mark in NOTATION_MARKS for line in code):
            modules.add(path.relative_to(ROOT).as_posix())

    assert modules - exceptions == {"serve/contract/notation.py"}


@pytest.mark.parametrize("lang", ["fr", "en"])
@pytest.mark.parametrize("value", [0, 7, 999, 1_000, 12_345, -1_000, 305_069_000])
def test_a_page_and_a_workbook_write_the_same_number(lang: str, value: int) -> None:
    """But a page has the typographic minus, and a workbook the hyphen of a keyboard"""
    assert Formatting(lang).number(value).replace("−", "-") == Labels(lang).number(value)


@pytest.mark.parametrize("month", range(1, 13))
def test_the_short_name_of_every_month_begins_its_long_name(month: int) -> None:
    for lang in ("fr", "en"):
        long_name, short_name = (
            write(f"2026-{month:02}", lang) for write in (notation.date, notation.short_date)
        )
        assert long_name.endswith(" 2026")
        assert long_name.casefold().startswith(
            short_name.removesuffix(" 2026").rstrip(".").casefold()[:3]
        )
