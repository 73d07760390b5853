"""Checks of the columns and the rows between two stages of a build."""

import polars as pl
import pytest

from pipeline.errors import BuildError
from pipeline.publishing import country

FRAME = pl.LazyFrame({"id": ["1"], "taux": [1.0]})


def test_a_column_that_a_stage_did_not_add_is_named() -> None:
    with pytest.raises(BuildError, match="after money: no column ca_eur, score"):
        country.require_columns(FRAME, "money", there=["id", "score", "ca_eur"])


def test_a_column_that_a_stage_did_not_drop_is_named() -> None:
    with pytest.raises(BuildError, match="after money: taux is still there"):
        country.require_columns(FRAME, "money", gone=["taux", "annee"])


def test_a_correct_frame_is_returned_without_being_read() -> None:
    assert country.require_columns(FRAME, "money", there=["id"], gone=["annee"]) is FRAME


@pytest.mark.parametrize("expected", [0, 2])
def test_a_join_that_loses_or_doubles_rows_is_noticed(expected: int) -> None:
    with pytest.raises(BuildError, match=f"1 rows of {expected}"):
        country.require_rows(FRAME.collect(), "sectors", expected)
