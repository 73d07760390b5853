"""The second noise: the same seed draws the same lines, and each kind changes a name."""

from typing import Any

import pytest

from serve.contract.seed_tables import rows
from tests.bench.matching.list_noise import KINDS, ListNoise
from tests.bench.matching.noise import NoiseTables

# A name that every kind can change.
COMPANY: dict[str, Any] = {
    "iso2": "UK", "id": "00944111", "nom": "FIRST EAST GRÜNWALD WORKSHOP OF YORK COMPANY LIMITED",
    "ville": "York", "code_postal": "YO1 1AA", "date_creation": "1968-12-13",
}  # fmt: skip


@pytest.fixture
def noise() -> ListNoise:
    """The noise of lists, with the seed 1 and the tables of the project."""
    return ListNoise(1, NoiseTables.parse(rows("formes_juridiques.csv"), rows("abreviations.csv")))


def test_the_same_seed_draws_the_same_lines(noise: ListNoise) -> None:
    equal_noise = ListNoise(
        1, NoiseTables.parse(rows("formes_juridiques.csv"), rows("abreviations.csv"))
    )

    assert [noise.line(COMPANY, []) for _ in range(50)] == [
        equal_noise.line(COMPANY, []) for _ in range(50)
    ]


# The two kinds that are left out may draw the spelling that the name has.
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"whole", "form_of_parts"}))
def test_each_kind_changes_a_name(noise: ListNoise, kind: str) -> None:
    assert KINDS[kind][1](noise, COMPANY["nom"], COMPANY) != COMPANY["nom"]


def test_the_shares_of_kinds_add_up_to_one() -> None:
    assert sum(share for share, _ in KINDS.values()) == pytest.approx(1.0)
