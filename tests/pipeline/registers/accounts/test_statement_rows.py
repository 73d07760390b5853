"""Amounts of the chart as canonical rows."""

from pipeline.registers.accounts import chart, statement
from pipeline.registers.accounts.statement import Amount

LINES = chart.load_lines()
# Deferred tax is a part of provisions.
TAX, PROVISIONS, EQUITY = (
    LINES[code]
    for code in ("TaxationIncludingDeferredTaxation", "ProvisionsForLiabilities", "Equity")
)


def _labelled_rows(*amounts: Amount) -> list[tuple[object, ...]]:
    """The year, code, label and order of the rows that amounts of one company become."""
    rows = statement.amount_rows("UK", "09707484", amounts)
    return [(row["exercice"], row["code"], row["libelle"], row["ordre"]) for row in rows]


def test_a_part_without_its_whole_has_the_label_of_a_line_by_itself() -> None:
    # 09707484 filed deferred taxes of 6,790 without the provisions that they are a part of.
    tax = Amount(2017, TAX, 6790.0, "GBP")

    assert _labelled_rows(tax, Amount(2017, EQUITY, 1.0, "GBP")) == [
        (2017, "Equity", "Capitaux propres", 60),
        (2017, "TaxationIncludingDeferredTaxation", "Impôts, y compris différés", 71),
    ]


def test_a_part_below_its_whole_of_the_same_year_and_accounts_is_labelled_as_a_part() -> None:
    """Taxation is a part of the provisions; the taxation of the group stands alone, as the group has no provisions."""
    part_and_whole = [Amount(2017, TAX, 6.0, "GBP"), Amount(2017, PROVISIONS, 7.0, "GBP")]
    other_year_and_group = [
        Amount(2016, PROVISIONS, 7.0, "GBP"),
        Amount(2017, TAX, 8.0, "GBP", group=True),
    ]

    assert _labelled_rows(*part_and_whole, *other_year_and_group) == [
        (2016, "ProvisionsForLiabilities", "Provisions pour risques et charges", 70),
        (2017, "ProvisionsForLiabilities", "Provisions pour risques et charges", 70),
        (2017, "TaxationIncludingDeferredTaxation", "dont impôts, y compris différés", 71),
        (
            2017,
            "TaxationIncludingDeferredTaxationConsolidated",
            "Impôts, y compris différés (comptes consolidés)",
            1071,
        ),
    ]
