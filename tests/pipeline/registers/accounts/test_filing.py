"""One filing, XBRL or iXBRL, as facts."""

import io

import pytest

from pipeline.registers.accounts import filing, uk_accounts
from pipeline.registers.accounts.filing import FilingError
from tests.pipeline.registers.published import xbrl_filing


def test_a_nil_or_unreadable_fact_is_counted_and_is_not_zero() -> None:
    text = xbrl_filing("2017-12-31", CashBankInHand="5", Debtors="douze")
    nil = '<pt:Stocks contextRef="c0" unitRef="GBP" xsi:nil="true"/></xbrl>'

    parsed = filing.parse(io.BytesIO(text.replace("</xbrl>", nil).encode()))

    assert [(fact.key, fact.value) for fact in parsed.facts] == [("CashBankInHand", 5.0)]
    assert parsed.unreadable == 2


def inline_filing(text: str, attributes: str) -> bytes:
    """An inline filing with one fact."""
    return (
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="ix" xmlns:xbrli="x" xmlns:ixt="t">'
        '<ix:resources><xbrli:context id="c"><xbrli:period><xbrli:instant>2017-06-30'
        "</xbrli:instant></xbrli:period></xbrli:context></ix:resources>"
        f'<ix:nonFraction name="core:Debtors" contextRef="c" unitRef="GBP" {attributes}>'
        f"{text}</ix:nonFraction></html>"
    ).encode()


@pytest.mark.parametrize(
    ("text", "attributes", "value"),
    [
        ("1234.5", "", 1234.5),
        ("-12", "", -12.0),
        ("1,234.50", 'format="ixt:numdotdecimal"', 1234.5),
        ("1 234", 'format="ixt:numdotdecimal" sign="-"', -1234.0),
        ("12345", 'format="ixt:numcommadot" scale="3"', 12_345_000.0),
        ("\n 1,234,567 ", 'format="ixt:num-dot-decimal"', 1_234_567.0),
        ("1.234,5", 'format="ixt:numcommadecimal"', 1234.5),
        ("1.234.567,5", 'format="ixt:numdotcomma"', 1_234_567.5),
        ("1 234,5", 'format="ixt:numspacecomma"', 1234.5),
        ("1234,5", 'format="ixt:numcomma"', 1234.5),
        ("–", 'format="ixt:zerodash"', 0.0),
        ("-", 'format="ixt:numdash"', 0.0),
        ("nil", 'format="ixt:fixed-zero"', 0.0),
        ("Twenty-one", 'format="ixt:numwordsen"', 21.0),
        ("two hundred and fifty", 'format="ixt:numwordsen"', 250.0),
    ],
)
def test_a_text_that_is_legal_in_its_format_is_its_number(
    text: str, attributes: str, value: float
) -> None:
    parsed = filing.parse(io.BytesIO(inline_filing(text, attributes)))

    assert [(fact.key, fact.value) for fact in parsed.facts] == [("Debtors", value)]
    assert parsed.unreadable == 0
    assert parsed.unread == ()


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("", ""),
        ("1,5", ""),
        ("1 234", ""),
        ("1_234", ""),
        ("-5", 'sign="-"'),
        ("", 'format="ixt:numdotdecimal"'),
        ("-", 'format="ixt:numdotdecimal"'),
        ("500,00", 'format="ixt:numdotdecimal"'),
        ("1505374,00", 'format="ixt:numcommadot"'),
        ("1,234 567", 'format="ixt:numdotdecimal"'),
        ("1.234,5", 'format="ixt:numdotdecimal"'),
        ("500.00", 'format="ixt:numcommadecimal"'),
        ("١٢٣", 'format="ixt:numdotdecimal"'),
        ("1,234", 'format="ixt:zerodash"'),
        ("no", 'format="ixt:fixedfalse"'),
        ("two or three", 'format="ixt:numwordsen"'),
        ("1,234", 'format="ixt:of-another-registry"'),
    ],
)
def test_a_text_that_is_not_legal_in_its_format_is_unreadable(text: str, attributes: str) -> None:
    parsed = filing.parse(io.BytesIO(inline_filing(text, attributes)))

    assert parsed.facts == ()
    assert parsed.unreadable == 1
    assert [fact.key for fact in parsed.unread] == ["Debtors"]


@pytest.mark.parametrize("text", ["", "-", "1,5", "1.234,5", "1 234", "1_234", "inf"])
def test_a_text_that_is_not_a_number_of_xml_is_unreadable(text: str) -> None:
    document = xbrl_filing("2017-12-31", CashBankInHand="5", Debtors=text)

    parsed = filing.parse(io.BytesIO(document.encode()))

    assert [(fact.key, fact.value) for fact in parsed.facts] == [("CashBankInHand", 5.0)]
    assert parsed.unreadable == 1
    assert [fact.key for fact in parsed.unread] == ["Debtors"]


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
def test_equivalent_members_for_a_due_date_give_one_key(members: list[str], key: str) -> None:
    segment = "".join(
        f'<explicitMember dimension="core:D{number}">{member}</explicitMember>'
        for number, member in enumerate(members)
    )
    text = xbrl_filing("2017-12-31", Creditors="5").replace(
        "</entity>", f"<segment>{segment}</segment></entity>"
    )

    parsed = filing.parse(io.BytesIO(text.encode()))

    assert [fact.key for fact in parsed.facts] == [key]


@pytest.mark.parametrize(
    "name", ["Prod223_2125_09734389_20171331.html", "Prod223_09734389.html", "09734389.pdf"]
)
def test_a_name_that_no_british_filing_has_is_refused(name: str) -> None:
    with pytest.raises(FilingError, match="nom de fichier inconnu"):
        uk_accounts.parse_name(name)


@pytest.mark.parametrize(
    ("published", "day"),
    [
        ("2017-06-30T23:59:59", "2017-06-30"),
        ("2017-06-30T12:00:00+01:00", "2017-06-30"),
        ("2017-07-01T00:00:00", "2017-06-30"),  # midnight is the end of the day before
    ],
)
def test_a_day_with_a_time_is_a_day(published: str, day: str) -> None:
    filing_text = inline_filing("5", "").replace(b"2017-06-30", published.encode())

    [fact] = filing.parse(io.BytesIO(filing_text)).facts

    assert (fact.day.isoformat(), fact.value) == (day, 5.0)


def test_a_period_begins_on_the_day_of_its_midnight() -> None:
    period = b"<xbrli:startDate>2016-07-01T00:00:00</xbrli:startDate><xbrli:endDate>2017-07-01T00:00:00</xbrli:endDate>"
    instant = b"<xbrli:instant>2017-06-30</xbrli:instant>"

    [fact] = filing.parse(io.BytesIO(inline_filing("5", "").replace(instant, period))).facts

    assert (str(fact.start), str(fact.day)) == ("2016-07-01", "2017-06-30")
