"""The second noise: the same seed draws the same lines, and each kind does to a name what it says."""

from typing import Any

import pytest

from serve.contract.seed_tables import rows
from tests.bench.matching.list_noise import KINDS, ListNoise
from tests.bench.matching.noise import NoiseTables

COMPANY: dict[str, Any] = {
    "iso2": "UK", "id": "00944111", "nom": "FIRST EAST GRÜNWALD WORKSHOP OF YORK COMPANY LIMITED",
    "ville": "York", "code_postal": "YO1 1AA", "date_creation": "1968-12-13",
}  # fmt: skip


@pytest.fixture
def noise() -> ListNoise:
    return ListNoise(
        1, NoiseTables.of_rows(rows("formes_juridiques.csv"), rows("abreviations.csv"))
    )


def test_the_same_seed_draws_the_same_lines(noise: ListNoise) -> None:
    other = ListNoise(
        1, NoiseTables.of_rows(rows("formes_juridiques.csv"), rows("abreviations.csv"))
    )

    assert [noise.line(COMPANY, []) for _ in range(50)] == [
        other.line(COMPANY, []) for _ in range(50)
    ]


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"whole", "form_of_parts"}))
def test_each_kind_changes_a_name(noise: ListNoise, kind: str) -> None:
    assert KINDS[kind][1](noise, COMPANY["nom"], COMPANY) != COMPANY["nom"]


def test_the_shares_of_kinds_are_a_whole() -> None:
    assert sum(share for share, _ in KINDS.values()) == pytest.approx(1.0)
