"""Notes of candidates, computed from their evidence."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from serve.contract.seed_tables import match_weights
from shards.matching.verdicts import Weights, shares

STRENGTHS = st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=8)


@given(STRENGTHS)
def test_a_stronger_candidate_has_no_lower_share_or_lead(strengths: list[float]) -> None:
    """`shares` returns, per candidate, its share of the probability of all and its lead over the best other."""
    ranked = sorted(zip(strengths, shares(strengths), strict=True))

    for (_, (share, lead)), (_, (next_share, next_lead)) in pairwise(ranked):
        assert next_share >= share - 1e-9
        assert next_lead >= lead - 1e-9


@given(STRENGTHS)
def test_a_stronger_candidate_has_no_lower_note(strengths: list[float]) -> None:
    weights = Weights(match_weights() | {"nom_identique": 1.0})
    weights.curve = match_weights().curve
    notes = weights.notes([{"nom_identique": strength} for strength in strengths])
    ranked = sorted(zip(strengths, notes, strict=True))

    assert sum(notes) <= 1 + 1e-9
    for (_, note), (_, next_note) in pairwise(ranked):
        assert next_note >= note - 1e-9
