"""Amounts of the chart as canonical rows."""

from pipeline.registers.accounts import chart, statement
from pipeline.registers.accounts.statement import Amount

LINES = chart.load()
TAX, PROVISIONS, EQUITY = (
    LINES[code]
    for code in ("TaxationIncludingDeferredTaxation", "ProvisionsForLiabilities", "Equity")
)


def _labels(*amounts: Amount) -> list[tuple[object, ...]]:
    rows = statement.canonical_rows("UK", "09707484", amounts)
    return [(row["exercice"], row["code"], row["libelle"], row["ordre"]) for row in rows]


def test_a_part_without_its_whole_stands_alone() -> None:
    # 09707484 filed deferred taxes of 6,790 without the provisions that they are a part of.
    tax = Amount(2017, TAX, 6790.0, "GBP")

    assert _labels(tax, Amount(2017, EQUITY, 1.0, "GBP")) == [
        (2017, "Equity", "Capitaux propres", 60),
        (2017, "TaxationIncludingDeferredTaxation", "Impôts, y compris différés", 71),
    ]


def test_a_part_is_named_as_one_below_its_whole_of_the_same_year_and_accounts() -> None:
    of_year = [Amount(2017, TAX, 6.0, "GBP"), Amount(2017, PROVISIONS, 7.0, "GBP")]
    elsewhere = [Amount(2016, PROVISIONS, 7.0, "GBP"), Amount(2017, TAX, 8.0, "GBP", group=True)]

    assert _labels(*of_year, *elsewhere) == [
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
