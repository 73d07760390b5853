"""Swedish annual reports in the layout of Bolagsverket; no real report is bundled."""

import io
import zipfile
from pathlib import Path

import pytest

from tests.pipeline.registers.accounts.filed import counts, imported, values

NUMBER = "5591620306"


def report(*facts: str, identifier: str = "559162-0306") -> str:
    """A report of 2023 with contexts `period0` and `balans0`, `period1` and `balans1` before."""
    entity = (
        "<xbrli:entity><xbrli:identifier scheme='http://www.bolagsverket.se'>"
        f"{identifier}</xbrli:identifier></xbrli:entity>"
    )
    contexts = "".join(
        f'<xbrli:context id="period{n}">{entity}<xbrli:period><xbrli:startDate>{year}-01-01'
        f"</xbrli:startDate><xbrli:endDate>{year}-12-31</xbrli:endDate></xbrli:period>"
        f'</xbrli:context><xbrli:context id="balans{n}">{entity}<xbrli:period><xbrli:instant>'
        f"{year}-12-31</xbrli:instant></xbrli:period></xbrli:context>"
        for n, year in enumerate((2023, 2022))
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


def fact(concept: str, context: str, text: str, *, scale: int = 0, sign: str = "") -> str:
    unit = "antal" if concept == "MedelantaletAnstallda" else "SEK"
    return (
        f'<ix:nonFraction name="se-gen-base:{concept}" contextRef="{context}" unitRef="{unit}"'
        f' decimals="INF" scale="{scale}"{f" sign={sign!r}" if sign else ""}'
        f' format="ixt:numspacecomma">{text}</ix:nonFraction>'
    )


WHOLE = report(
    fact("Nettoomsattning", "period0", "1 235", scale=3),  # the overview comes first
    fact("Nettoomsattning", "period0", "1\N{NO-BREAK SPACE}234\N{NO-BREAK SPACE}567"),
    fact("Nettoomsattning", "period1", "1&#160;100&#160;000,50"),
    fact("RavarorFornodenheterKostnader", "period0", "300"),
    fact("HandelsvarorKostnader", "period0", "200"),
    fact("Personalkostnader", "period0", "700 000"),
    fact("Rorelseresultat", "period0", "45 678", sign="-"),
    fact("MedelantaletAnstallda", "period0", "3"),
    fact("Tillgangar", "balans0", "900 000"),
    fact("EgetKapital", "balans0", "300 000"),
    fact("EgetKapitalSkulder", "balans0", "900 000"),
)


def weekly(path: Path, **reports: str) -> Path:
    """A zip of zips, as published: company, closing date, and a name of its own inside."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in reports.items():
            inner = io.BytesIO()
            with zipfile.ZipFile(inner, "w") as packed:
                packed.writestr("arsredovisning.xhtml", text)
            archive.writestr(f"{name[1:]}_2023-12-31.zip", inner.getvalue())
    return path


def test_a_weekly_archive_gives_both_years_of_its_reports(tmp_path: Path) -> None:
    _, lines = imported("se-comptes", [weekly(tmp_path / "w.zip", _5591620306=WHOLE)], tmp_path)

    assert values(lines, NUMBER, 2023, "compte_resultat") == {
        "TurnoverRevenue": 1234567.0,
        "RawMaterialsConsumablesUsed": 500.0,
        "StaffCostsEmployeeBenefitsExpense": 700000.0,
        "OperatingProfitLoss": -45678.0,
    }
    assert values(lines, NUMBER, 2022, "compte_resultat") == {"TurnoverRevenue": 1100000.5}
    assert values(lines, NUMBER, 2023, "bilan_actif") == {"TotalAssets": 900000.0}
    assert values(lines, NUMBER, 2023, "annexe") == {"AverageNumberEmployeesDuringPeriod": 3.0}
    assert lines.filter(lines["code"] == "TotalAssets")["devise"].to_list() == ["SEK"]


def test_a_report_of_its_own_names_its_company(tmp_path: Path) -> None:
    file = tmp_path / "arsredovisning.xhtml"
    file.write_text(WHOLE)
    _, lines = imported("se-comptes", [file], tmp_path / "out")

    assert set(lines["id"]) == {NUMBER}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("_5560125790", WHOLE, "numéro contredit par le dépôt"),
        ("_5591620307", "<rapport/>", "ni XBRL ni iXBRL"),
        ("_5591620306", report(), "aucun poste reconnu"),
    ],
)
def test_a_report_that_gives_nothing_does_not_stop_the_others(
    tmp_path: Path, name: str, text: str, reason: str
) -> None:
    good = report(fact("Tillgangar", "balans0", "5"), identifier="556016-0680")
    file = weekly(tmp_path / "w.zip", _5560160680=good, **{name: text})
    found, lines = imported("se-comptes", [file], tmp_path / "out")

    assert counts(found) == {"read": 2, "kept": 1, "dropped": {}, "rejected": {reason: 1}}
    assert set(lines["id"]) == {"5560160680"}
