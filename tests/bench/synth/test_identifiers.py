"""Identifiers are valid, unique and resemble real identifiers."""

import re
from importlib import import_module

import numpy as np
import polars as pl
import pytest

from tests.bench.synth.check_digits import GAPPED, RULES, valid_stems
from tests.bench.synth.identifiers import Segment, ids, share_out
from tests.bench.synth.synthetic import CODES, PROFILES, SEEDS


@pytest.mark.parametrize("iso2", CODES)
def test_identifiers_are_unique_and_have_the_format_and_the_check_digit(iso2: str) -> None:
    country = SEEDS.country(iso2)
    parts = PROFILES[iso2].segments

    identifiers = ids(iso2, parts, np.arange(4_000), 4_000, 12_345)

    assert identifiers.n_unique() == 4_000
    assert identifiers.filter(~identifiers.str.contains(country.id_regex)).to_list() == []
    if re.fullmatch(r"[a-z]{2}\.[a-z]+", country.stdnum_module):
        is_valid = import_module(f"stdnum.{country.stdnum_module}").is_valid
        if is_valid(country.id_exemple):
            assert [text for text in identifiers if not is_valid(text)] == []


@pytest.mark.parametrize(("iso2", "stem", "check"), [("SK", 4716536, 7), ("LT", 11005384, 2)])
def test_slovak_and_lithuanian_check_digits_match_the_examples(
    iso2: str, stem: int, check: int
) -> None:
    """The examples of `seeds/pays.csv`."""
    assert RULES[iso2](np.array([stem])).tolist() == [check]


@pytest.mark.parametrize("iso2", sorted(GAPPED))
def test_stems_without_a_check_digit_are_left_out_and_no_stem_is_repeated(iso2: str) -> None:
    stems = valid_stems(np.arange(9_000), RULES[iso2])

    assert (RULES[iso2](stems) < 10).all()
    assert len(set(stems.tolist())) == 9_000
    assert stems.max() < 10_000  # nine of each ten stems are used


def test_identifiers_beyond_a_full_range_go_to_the_other_ranges() -> None:
    parts = [
        Segment("A", bas=0, haut=9, largeur=1, fin="", poids=99.0),
        Segment("B", bas=0, haut=99, largeur=2, fin="", poids=1.0),
    ]

    # By weight segment A would get 99 of 100 companies, but it has only ten numbers.
    assert share_out(parts, 100, "XX").tolist() == [10, 90]
    assert sorted(ids("XX", parts, np.arange(110), total=110, shift=7)) == sorted(
        [f"A{n}" for n in range(10)] + [f"B{n:02}" for n in range(100)]
    )


def test_prefixes_have_many_selectivities(companies: pl.DataFrame) -> None:
    british = companies.filter(pl.col("iso2") == "UK")["id"].str.head(2).value_counts()
    shares = (british["count"] / british["count"].sum()).to_list()

    assert max(shares) > 0.05
    assert min(shares) < 0.003


def test_lei_and_vat_numbers_have_their_check_digits(companies: pl.DataFrame) -> None:
    leis = companies["lei"].drop_nulls()
    assert leis.len() > 0
    assert leis.n_unique() == leis.len()
    assert all(map(import_module("stdnum.lei").is_valid, leis))
    for iso2, module in (("BE", "be.vat"), ("FI", "fi.alv"), ("FR", "fr.tva"), ("SE", "se.vat")):
        is_valid = import_module(f"stdnum.{module}").is_valid
        numbers = companies.filter(iso2=iso2)["tva"].drop_nulls()
        assert numbers.len() > 0
        assert [number for number in numbers if not is_valid(number)] == []
