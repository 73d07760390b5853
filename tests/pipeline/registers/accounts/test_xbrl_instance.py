"""XBRL instances as facts."""

from datetime import date
from math import inf

import pytest

from pipeline.registers.accounts import xbrl_instance
from pipeline.registers.accounts.filing import FilingError
from tests.pipeline.registers.accounts.filed import instance_xml


def parse(text: str) -> xbrl_instance.Instance:
    """The instance that this text is parsed into."""
    return xbrl_instance.parse(text.encode())


def test_a_fact_has_its_period_its_members_and_its_currency() -> None:
    dimensions = (
        '<xbrldi:explicitMember dimension="d:Scope">d:Group</xbrldi:explicitMember>'
        '<xbrldi:typedMember dimension="d:Person"><d:Name xmlns:d="d">Żak</d:Name>'
        "</xbrldi:typedMember>"
    )
    parsed = parse(
        instance_xml('<f:Revenue contextRef="g" unitRef="EUR" decimals="INF">-1.5</f:Revenue>',
                 dimensions=dimensions)
    )  # fmt: skip
    (fact,) = parsed.items

    assert (fact.concept, fact.value, fact.currency, fact.precision) == (
        "Revenue",
        -1.5,
        "EUR",
        inf,
    )
    assert (fact.context.start, fact.context.day) == (date(2024, 1, 1), date(2024, 12, 31))
    assert fact.context.members == {"Scope": "Group", "Person": "Żak"}


def test_a_number_in_a_pure_unit_has_no_currency() -> None:
    parsed = parse(instance_xml('<f:Staff contextRef="p" unitRef="n" decimals="0">3</f:Staff>'))

    assert [(fact.value, fact.currency) for fact in parsed.items] == [(3.0, None)]


def test_a_nil_fact_gives_no_value() -> None:
    fact = '<f:Cash contextRef="c" unitRef="EUR" decimals="0" xsi:nil="true"/>'

    parsed = parse(instance_xml(fact))

    assert (parsed.items, parsed.unreadable) == ([], 0)


@pytest.mark.parametrize(
    "fact",
    [
        '<f:Cash contextRef="c" unitRef="EUR" decimals="0">12 000</f:Cash>',
        '<f:Cash contextRef="c" unitRef="EUR" decimals="0">1_234</f:Cash>',
        '<f:Cash contextRef="absent" unitRef="EUR" decimals="0">1</f:Cash>',
        '<f:Cash contextRef="c" unitRef="EUR" decimals="0">NaN</f:Cash>',
    ],
)
def test_a_fact_that_cannot_be_read_is_counted(fact: str) -> None:
    parsed = parse(instance_xml(fact))

    assert (parsed.items, parsed.unreadable) == ([], 1)


def test_a_period_that_ends_at_midnight_ends_the_day_before() -> None:
    fact = '<f:Cash contextRef="c" unitRef="EUR" decimals="0">1</f:Cash>'
    text = instance_xml(fact).replace("<instant>2024-12-31<", "<instant>2025-01-01T00:00:00<")

    assert parse(text).items[0].context.day == date(2024, 12, 31)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<xbrl", "pas un document XBRL"),
        ("<html/>", "racine 'html'"),
        ('<!DOCTYPE x [<!ENTITY e "expanded">]><x>&e;</x>', "DOCTYPE 'x'"),
        ('<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>', "DOCTYPE 'x'"),
    ],
)
def test_a_document_that_is_not_an_xbrl_instance_is_refused(text: str, message: str) -> None:
    with pytest.raises(FilingError, match=message):
        parse(text)
