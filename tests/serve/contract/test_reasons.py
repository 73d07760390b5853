"""Reasons and formulas in words: every code of a table or a route has French and English words."""

from dataclasses import replace
from typing import get_args

import pytest

from serve.contract import reasons
from serve.features.analyses.answers import Annee, Cessations
from shards.ratios.accounts import NoRatioReason
from shards.ratios.ratio_table import chart_lines, ratios


@pytest.mark.parametrize("code", ratios())
def test_every_formula_has_words_in_both_languages(code: str) -> None:
    """No sign of the language of formulas and no code of a statement line is left in the words"""
    text = ratios()[code].formule
    french, english = (reasons.formule(text, lang) for lang in ("fr", "en"))

    assert french != english
    for words in (french, english):
        assert "@" not in words and "?" not in words and "|" not in words and "_" not in words
    assert not [line for line in chart_lines() if line in french.split()]


@pytest.mark.parametrize("reason", get_args(NoRatioReason))
def test_every_reason_for_a_missing_ratio_has_words_in_both_languages(reason: str) -> None:
    texts = {reasons.motif(f"{reason}: Equity", lang) for lang in ("fr", "en")}

    assert len(texts) == 2
    assert reason not in " ".join(texts)


def test_words_replace_codes_at_every_depth_and_change_nothing_else() -> None:
    with_reason = Cessations(annees=[Annee(annee=2024, n=1)], societes=1, motif_code="aucun_ca")
    without_reason = Cessations(annees=None, societes=0, motif_code=None)

    answer = reasons.write_reasons([with_reason, [without_reason], "aucun_ca"], "en")

    assert answer == [
        replace(with_reason, motif="no turnover is known"),
        [without_reason],
        "aucun_ca",
    ]
