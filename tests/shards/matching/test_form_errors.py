"""Legal forms with a typing error: every short form of every country (extension X19)."""

import csv

import pytest

from seeds import TABLES
from serve.contract.seed_tables import name_tables
from shards.codec.folding import fold
from shards.matching.line import LIKELY, SURE, Line
from shards.matching.matcher import Matcher
from tests.world import Company, company

# Rare words; the name of each company has two of them.
_NAMES = [f"{first}{second}" for first in ("zeph", "quar", "brin", "vold", "krat", "plum", "drog")
          for second in ("arnik", "ostel", "under", "iplan", "ebrok", "yster", "owitz", "alpen")]  # fmt: skip


def _short_forms() -> dict[str, list[str]]:
    """The legal forms of two and three letters, by country."""
    with (TABLES / "formes_juridiques.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["iso2"] and row["classe"]]
    forms: dict[str, list[str]] = {}
    for row in rows:
        if " " not in row["forme"] and 2 <= len(fold(row["forme"])) <= 3:
            forms.setdefault(row["iso2"], []).append(row["forme"])
    return forms


FORMS = _short_forms()


@pytest.fixture(scope="module")
def companies() -> dict[str, list[Company]]:
    """A company of each short form of each country."""
    return {
        iso2: [
            company(iso2, str(number), f"{_NAMES[number]} {_NAMES[-number]} {form.upper()}")
            for number, form in enumerate(forms, 1)
        ]
        for iso2, forms in FORMS.items()
    }


def _drop_each_letter(form: str) -> list[str]:
    """The form without its first letter, without its second, and so on."""
    return [form[:position] + form[position + 1 :] for position in range(len(form))]


@pytest.mark.parametrize(
    ("iso2", "number", "text"),
    [
        (iso2, number, text)
        for iso2, forms in FORMS.items()
        for number, form in enumerate(forms, 1)
        for text in _drop_each_letter(form)
        if text not in map(fold, forms) and text not in forms
    ],
)
@pytest.mark.parametrize("order", ["{0} {1}", "{1} {0}"])
def test_a_letter_missing_from_a_short_legal_form_leaves_the_company_likely(
    matcher: Matcher, iso2: str, number: int, text: str, order: str
) -> None:
    line = order.format(f"{_NAMES[number]} {_NAMES[-number]}", text.upper())

    result = matcher.match(Line(line, (iso2,)), 1)

    assert result.verdict in (LIKELY, SURE)
    assert result.candidats[0].id == str(number)
    assert "nombre_different" not in result.candidats[0].raisons


@pytest.mark.parametrize("text", ["GmbH & C. KG", "Gmb & Co. KG", "GmbH & Co. K", "GmbHCo KG"])
def test_a_letter_missing_from_a_compound_legal_form_is_an_error_of_the_form(text: str) -> None:
    forms = name_tables().forms
    _, name_forms = forms.split_forms(tuple(fold("Zephyr GmbH & Co. KG").split()), "DE")

    assert any(forms.is_near(fold(text).replace(" ", ""), form) for form in name_forms)
    assert not any(forms.is_near("zephyr", form) for form in name_forms)
