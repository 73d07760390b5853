"""Numbers and dates have one notation in the whole server."""

import pytest

from serve.contract import notation
from serve.features.export.workbook.labels import Labels
from serve.surfaces.site.formatting import Formatting
from tests import ROOT

# The escapes and the first month by which a notation of its own would show.
OWN = ("\\u202f", "\u202f", "janv", "Jan")


def test_no_other_module_has_a_notation_of_its_own() -> None:
    """Doctests show what the notation makes, and a pattern of OpenAPI lists all blanks."""
    shown = {
        "serve/surfaces/docs/document.py",
        "serve/request/scalars.py",
    }  # and one reads dates
    found = set()
    for path in (ROOT / "serve").rglob("*.py"):
        code = [line for line in path.read_text(encoding="utf-8").splitlines()
                if not line.lstrip().startswith((">>>", "('", "'"))]  # fmt: skip
        if any(mark in line for mark in OWN for line in code):
            found.add(path.relative_to(ROOT).as_posix())

    assert found - shown == {"serve/contract/notation.py"}


@pytest.mark.parametrize("lang", ["fr", "en"])
@pytest.mark.parametrize("value", [0, 7, 999, 1_000, 12_345, -1_000, 305_069_000])
def test_a_page_and_a_workbook_write_the_same_number(lang: str, value: int) -> None:
    assert Formatting(lang).number(value).replace("−", "-") == Labels(lang).number(value)


@pytest.mark.parametrize("month", range(1, 13))
def test_every_month_has_its_name(month: int) -> None:
    for lang in ("fr", "en"):
        full, short = (
            write(f"2026-{month:02}", lang) for write in (notation.date, notation.short_date)
        )
        assert full.endswith(" 2026")
        assert full.casefold().startswith(short.removesuffix(" 2026").rstrip(".").casefold()[:3])
