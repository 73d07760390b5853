"""One filing, XBRL or iXBRL, as facts."""

import io

import pytest

from pipeline.registers.accounts import filing, uk_accounts
from pipeline.registers.accounts.filing import FilingError
from tests.pipeline.registers.published import xbrl


def test_a_fact_said_to_be_nil_or_unreadable_is_no_zero() -> None:
    text = xbrl("2017-12-31", CashBankInHand="5", Debtors="douze")
    nil = '<pt:Stocks contextRef="c0" unitRef="GBP" xsi:nil="true"/></xbrl>'

    found = filing.parse(io.BytesIO(text.replace("</xbrl>", nil).encode()))

    assert [(fact.key, fact.value) for fact in found.facts] == [("CashBankInHand", 5.0)]
    assert found.unreadable == 2


@pytest.mark.parametrize(
    ("members", "key"),
    [
        (["ns5:CurrentFinancialInstruments"], "Creditors[WithinOneYear]"),
        (["core:WithinOneYear", "ns5:CurrentFinancialInstruments"], "Creditors[WithinOneYear]"),
        (["core:Non-currentFinancialInstruments"], "Creditors[AfterOneYear]"),
        (
            ["core:Non-currentFinancialInstruments", "core:BetweenTwoFiveYears"],
            "Creditors[AfterOneYear+BetweenTwoFiveYears]",
        ),
        ([], "Creditors"),
    ],
)
def test_the_two_ways_to_split_by_due_date_are_one_key(members: list[str], key: str) -> None:
    segment = "".join(
        f'<explicitMember dimension="core:D{n}">{member}</explicitMember>'
        for n, member in enumerate(members)
    )
    text = xbrl("2017-12-31", Creditors="5").replace(
        "</entity>", f"<segment>{segment}</segment></entity>"
    )

    found = filing.parse(io.BytesIO(text.encode()))

    assert [fact.key for fact in found.facts] == [key]


@pytest.mark.parametrize(
    "name", ["Prod223_2125_09734389_20171331.html", "Prod223_09734389.html", "09734389.pdf"]
)
def test_a_file_name_of_another_form_is_refused(name: str) -> None:
    with pytest.raises(FilingError, match="nom de fichier inconnu"):
        uk_accounts.parse_name(name)
