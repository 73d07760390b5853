"""Dates of lists in the notations that people use (extension X19)."""

import pytest

from serve.request.scalars import ListedDate, iso_date, listed_date


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("1968-12-13", "1968-12-13"), ("1968-12", "1968-12"), ("1968", "1968"),
        ("13/12/1968", "1968-12-13"), ("12/13/1968", "1968-12-13"), ("05/05/1968", "1968-05-05"),
        ("3.4.1968", "1968-04-03"), ("03. 04. 1968", "1968-04-03"), ("1968/12/13", "1968-12-13"),
        ("19681213", "1968-12-13"), ("13 décembre 1968", "1968-12-13"), ("1er août 1968", "1968-08-01"),
        ("13-Dec-1968", "1968-12-13"), ("December 13, 1968", "1968-12-13"), ("12/1968", "1968-12"),
        ("13.XII.1968", "1968-12-13"), ("13 XII 1968", "1968-12-13"), ("1/v/1968", "1968-05-01"),
        ("13 dicembre 1968", "1968-12-13"), ("13 de diciembre de 1968", "1968-12-13"),
        ("13 grudnia 1968 r.", "1968-12-13"), ("13. prosince 1968", "1968-12-13"),
        ("13. joulukuuta 1968", "1968-12-13"), ("13 Δεκεμβρίου 1968", "1968-12-13"),
        ("13 декември 1968 г.", "1968-12-13"), ("1968 m. gruodžio 13 d.", "1968-12-13"),
        ("1968. gada 13. decembris", "1968-12-13"), ("1968. december 13.", "1968-12-13"),
        ("le 13 décembre, 1968", "1968-12-13"), ("1968 December", "1968-12"),
        ("December 1968", "1968-12"), ("13. März 1968", "1968-03-13"),
    ],
)  # fmt: skip
def test_a_notation_that_means_one_day_is_that_day(text: str, day: str) -> None:
    assert iso_date(text) == day


@pytest.mark.parametrize(
    "text",
    [
        "03/04/1968", "3-4-1968", "31/02/1968", "soon", "13/12/68", "99999999", "1968-13-01",
        "5 listopada 1968",  # October in Croatian, November in Polish
        "13.XIII.1968", "1968 m. gruodžio 32 d.", "13 sometimes 1968", "1968. 13. december 14",
    ],
)  # fmt: skip
def test_a_notation_that_means_two_days_or_none_is_refused(text: str) -> None:
    assert iso_date(text) is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("1968-12-13T00:00:00Z", "1968-12-13"), ("1968-12-13 00:00:00", "1968-12-13"),
        ("13.12.1968 00:00", "1968-12-13"), ("12/13/1968 12:00:00 AM", "1968-12-13"),
        ("1968-12-13T00:00:00.000+01:00", "1968-12-13"), ("13/12/1968 à 14h30", "1968-12-13"),
        ("25185", "1968-12-13"), ("25185.5", "1968-12-13"), ("'1968-12-13", "1968-12-13"),
        ("1968-12-00", "1968-12"), ("1968-00-00", "1968"), ("１９６８", "1968"), ("1968-12", "1968-12"),
    ],
)  # fmt: skip
def test_a_date_of_a_list_may_have_a_time_or_be_that_of_a_spreadsheet(text: str, day: str) -> None:
    assert listed_date(text) == ListedDate(day)


@pytest.mark.parametrize(
    "text", ["03/04/1968", "3-4-1968", "03/04/1968 00:00:00", "5 listopada 1968"]
)
def test_a_date_of_a_list_that_may_be_two_days_is_its_year(text: str) -> None:
    assert listed_date(text) == ListedDate("1968", is_ambiguous=True)


@pytest.mark.parametrize(
    "text",
    ["", "hier", "1/1/54", "31/02/1968", "99/99/1968", "99999", "12:30", "n'importe quoi 1968"],
)
def test_a_text_that_is_no_date_is_none(text: str) -> None:
    assert listed_date(text) is None
