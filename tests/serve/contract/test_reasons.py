"""Reasons and formulas in words: whatever a table or a route may name has French and English."""

from dataclasses import replace
from typing import get_args

import pytest

from serve.contract import reasons
from serve.features.analyses.answers import Annee, Cessations
from shards.ratios.accounts import Reason
from shards.ratios.ratio_table import chart_lines, ratios


@pytest.mark.parametrize("code", ratios())
def test_every_formula_can_be_told_in_both_languages(code: str) -> None:
    text = ratios()[code].formule
    told = [reasons.formule(text, lang) for lang in ("fr", "en")]

    assert told[0] != told[1]
    for one in told:
        assert "@" not in one and "?" not in one and "|" not in one and "_" not in one
    assert not [line for line in chart_lines() if line in told[0].split()]


@pytest.mark.parametrize("reason", get_args(Reason))
def test_every_reason_of_a_value_has_words(reason: str) -> None:
    told = {reasons.motif(f"{reason}: Equity", lang) for lang in ("fr", "en")}

    assert len(told) == 2
    assert reason not in " ".join(told)


def test_words_replace_codes_at_every_depth_and_nothing_else() -> None:
    ended = Cessations(annees=[Annee(annee=2024, n=1)], societes=1, motif_code="aucun_ca")
    nothing = Cessations(annees=None, societes=0, motif_code=None)

    found = reasons.with_reasons([ended, [nothing], "aucun_ca"], "en")

    assert found == [replace(ended, motif="no turnover is known"), [nothing], "aucun_ca"]
