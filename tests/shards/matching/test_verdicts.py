"""Notes of candidates from what speaks for each."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from serve.contract.seed_tables import match_weights
from shards.matching.verdicts import Weights, shares

STRENGTHS = st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=8)


@given(STRENGTHS)
def test_a_stronger_candidate_has_no_lower_share_nor_lead(strengths: list[float]) -> None:
    ranked = sorted(zip(strengths, shares(strengths), strict=True))

    for (_, (share, lead)), (_, (greater, longer)) in pairwise(ranked):
        assert greater >= share - 1e-9
        assert longer >= lead - 1e-9


@given(STRENGTHS)
def test_a_stronger_candidate_has_no_lower_note(strengths: list[float]) -> None:
    weights = Weights(match_weights() | {"nom_identique": 1.0})
    weights.curve = match_weights().curve
    notes = weights.notes([{"nom_identique": strength} for strength in strengths])
    ranked = sorted(zip(strengths, notes, strict=True))

    assert sum(notes) <= 1 + 1e-9
    for (_, note), (_, greater) in pairwise(ranked):
        assert greater >= note - 1e-9
