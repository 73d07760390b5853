"""Swedish annual reports in the layout of Bolagsverket; no real report is bundled."""

import io
import zipfile
from pathlib import Path

import pytest

from tests.pipeline.registers.accounts.filed import (
    import_accounts,
    outcome_counts,
    statement_values,
)

NUMBER = "5591620306"


def report_xhtml(*facts: str, identifier: str = "559162-0306") -> str:
    """A report of 2023: contexts `period0` and `balans0` are of 2023, `period1` and `balans1` of 2022."""
    entity = (
        "<xbrli:entity><xbrli:identifier scheme='http://www.bolagsverket.se'>"
        f"{identifier}</xbrli:identifier></xbrli:entity>"
    )
    contexts = "".join(
        f'<xbrli:context id="period{number}">{entity}<xbrli:period><xbrli:startDate>{year}-01-01'
        f"</xbrli:startDate><xbrli:endDate>{year}-12-31</xbrli:endDate></xbrli:period>"
        f'</xbrli:context><xbrli:context id="balans{number}">{entity}<xbrli:period><xbrli:instant>'
        f"{year}-12-31</xbrli:instant></xbrli:period></xbrli:context>"
        for number, year in enumerate((2023, 2022))
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml"'
        ' xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"'
        ' xmlns:xbrli="http://www.xbrl.org/2003/instance"'
        ' xmlns:ixt="http://www.xbrl.org/inlineXBRL/transformation/2010-04-20"'
        ' xmlns:iso4217="http://www.xbrl.org/2003/iso4217" xmlns:se-gen-base="g"><body>'
        f"<ix:header><ix:resources>{contexts}"
        '<xbrli:unit id="SEK"><xbrli:measure>iso4217:SEK</xbrli:measure></xbrli:unit>'
        '<xbrli:unit id="antal"><xbrli:measure>xbrli:pure</xbrli:measure></xbrli:unit>'
        f"</ix:resources></ix:header>{''.join(facts)}</body></html>"
    )


def fact_xhtml(concept: str, context: str, text: str, *, scale: int = 0, sign: str = "") -> str:
    """A fact of iXBRL: the amount `text`, with a comma, times ten to the power of `scale`."""
    unit = "antal" if concept == "MedelantaletAnstallda" else "SEK"
    return (
        f'<ix:nonFraction name="se-gen-base:{concept}" contextRef="{context}" unitRef="{unit}"'
        f' decimals="INF" scale="{scale}"{f" sign={sign!r}" if sign else ""}'
        f' format="ixt:numspacecomma">{text}</ix:nonFraction>'
    )


COMPLETE_REPORT = report_xhtml(
    fact_xhtml("Nettoomsattning", "period0", "1 235", scale=3),  # rounded, in the overview
    fact_xhtml("Nettoomsattning", "period0", "1\N{NO-BREAK SPACE}234\N{NO-BREAK SPACE}567"),
    fact_xhtml("Nettoomsattning", "period1", "1&#160;100&#160;000,50"),
    fact_xhtml("RavarorFornodenheterKostnader", "period0", "300"),
    fact_xhtml("HandelsvarorKostnader", "period0", "200"),
    fact_xhtml("Personalkostnader", "period0", "700 000"),
    fact_xhtml("Rorelseresultat", "period0", "45 678", sign="-"),
    fact_xhtml("MedelantaletAnstallda", "period0", "3"),
    fact_xhtml("Tillgangar", "balans0", "900 000"),
    fact_xhtml("EgetKapital", "balans0", "300 000"),
    fact_xhtml("EgetKapitalSkulder", "balans0", "900 000"),
)


def write_weekly_zip(path: Path, **reports: str) -> Path:
    """A zip of zips, as published; the keyword `_5591620306` gives the company in the name of an inner zip."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in reports.items():
            inner = io.BytesIO()
            with zipfile.ZipFile(inner, "w") as packed:
                packed.writestr("arsredovisning.xhtml", text)
            archive.writestr(f"{name[1:]}_2023-12-31.zip", inner.getvalue())
    return path


def test_a_weekly_archive_gives_both_years_of_its_reports(tmp_path: Path) -> None:
    _, lines = import_accounts(
        "se-comptes", [write_weekly_zip(tmp_path / "w.zip", _5591620306=COMPLETE_REPORT)], tmp_path
    )

    assert statement_values(lines, NUMBER, 2023, "compte_resultat") == {
        "TurnoverRevenue": 1234567.0,
        "RawMaterialsConsumablesUsed": 500.0,
        "StaffCostsEmployeeBenefitsExpense": 700000.0,
        "OperatingProfitLoss": -45678.0,
    }
    assert statement_values(lines, NUMBER, 2022, "compte_resultat") == {
        "TurnoverRevenue": 1100000.5
    }
    assert statement_values(lines, NUMBER, 2023, "bilan_actif") == {"TotalAssets": 900000.0}
    assert statement_values(lines, NUMBER, 2023, "annexe") == {
        "AverageNumberEmployeesDuringPeriod": 3.0
    }
    assert lines.filter(lines["code"] == "TotalAssets")["devise"].to_list() == ["SEK"]


def test_a_report_outside_an_archive_has_its_company_number_inside(tmp_path: Path) -> None:
    file = tmp_path / "arsredovisning.xhtml"
    file.write_text(COMPLETE_REPORT)
    _, lines = import_accounts("se-comptes", [file], tmp_path / "out")

    assert set(lines["id"]) == {NUMBER}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("_5560125790", COMPLETE_REPORT, "numéro contredit par le dépôt"),
        ("_5591620307", "<rapport/>", "ni XBRL ni iXBRL"),
        ("_5591620306", report_xhtml(), "aucun poste reconnu"),
    ],
)
def test_an_unusable_report_does_not_stop_the_import_of_the_next(
    tmp_path: Path, name: str, text: str, reason: str
) -> None:
    good_report = report_xhtml(fact_xhtml("Tillgangar", "balans0", "5"), identifier="556016-0680")
    file = write_weekly_zip(tmp_path / "w.zip", _5560160680=good_report, **{name: text})
    result, lines = import_accounts("se-comptes", [file], tmp_path / "out")

    assert outcome_counts(result) == {"read": 2, "kept": 1, "dropped": {}, "rejected": {reason: 1}}
    assert set(lines["id"]) == {"5560160680"}
