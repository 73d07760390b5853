"""The score: a published table of weights that sums to 100."""

import polars as pl
import pytest

from pipeline import score
from shards.record import FIELDS


def scored(**known: object) -> int:
    row = {**dict.fromkeys(score.WEIGHTS), **known}
    return int(score.attach_score(pl.LazyFrame([row])).collect()["score"].item())


def test_the_weights_sum_to_100() -> None:
    assert sum(score.WEIGHTS.values()) == 100


def test_what_every_company_has_weighs_nothing() -> None:
    assert set(FIELDS) >= set(score.WEIGHTS)
    assert score.WEIGHTS.keys().isdisjoint({"iso2", "id", "nom", "score"})


def test_nothing_known_is_0_and_everything_is_100() -> None:
    assert scored() == 0
    assert scored(**dict.fromkeys(score.WEIGHTS, "connu")) == 100


@pytest.mark.parametrize(("field", "weight"), sorted(score.WEIGHTS.items()))
def test_a_known_field_adds_its_weight(field: str, weight: int) -> None:
    assert scored(**{field: "connu"}) == weight


def test_a_zero_is_known() -> None:
    assert scored(effectif=0) == score.WEIGHTS["effectif"]
