"""The score: a published table of weights that sums to 100."""

import polars as pl
import pytest

from pipeline.stages import derived_fields
from shards.codec.record import FIELDS


def scored(**known: object) -> int:
    row = {**dict.fromkeys(derived_fields.WEIGHTS), **known}
    return int(derived_fields.attach_score(pl.LazyFrame([row])).collect()["score"].item())


def test_the_weights_sum_to_100() -> None:
    assert sum(derived_fields.WEIGHTS.values()) == 100


def test_what_every_company_has_weighs_nothing() -> None:
    assert set(FIELDS) >= set(derived_fields.WEIGHTS)
    assert derived_fields.WEIGHTS.keys().isdisjoint({"iso2", "id", "nom", "score"})


def test_nothing_known_is_0_and_everything_is_100() -> None:
    assert scored() == 0
    assert scored(**dict.fromkeys(derived_fields.WEIGHTS, "connu")) == 100


@pytest.mark.parametrize(("field", "weight"), sorted(derived_fields.WEIGHTS.items()))
def test_a_known_field_adds_its_weight(field: str, weight: int) -> None:
    assert scored(**{field: "connu"}) == weight


def test_a_zero_is_known() -> None:
    assert scored(effectif=0) == derived_fields.WEIGHTS["effectif"]
