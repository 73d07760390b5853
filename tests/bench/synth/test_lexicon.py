"""The tables that the generator draws from."""

import pytest

from pipeline.errors import SeedError
from tests.bench.synth import lexicon
from tests.bench.synth.synthetic import SEEDS


def test_a_currency_without_a_rate_stops() -> None:
    with pytest.raises(SeedError, match=r"taux\.csv has no XXX of 2025"):
        lexicon.rate(SEEDS, "XXX", 2025)


def test_a_country_without_a_row_in_a_table_stops() -> None:
    with pytest.raises(SeedError, match=r"villes\.csv has no row for XX; add one"):
        lexicon.of_country("villes", (), "XX")
