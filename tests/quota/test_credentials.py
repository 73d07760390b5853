"""API keys (contract A11): their form is checked offline, and they cannot be guessed."""

import hashlib
import random
import secrets
import string
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota import credentials

ANY = st.randoms(use_true_random=False).map(lambda chance: credentials.make_key(chance.randrange))
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


@given(ANY)
def test_a_key_is_the_prefix_then_32_characters_then_6_of_their_crc32(key: str) -> None:
    secret, check = key.removeprefix("soc_live_")[:32], key[-6:]
    number = 0
    for digit in check:
        number = number * 62 + BASE62.index(digit)

    assert len(key) == 47
    assert set(secret + check) <= set(BASE62)
    assert number == zlib.crc32(secret.encode())
    assert credentials.is_well_formed(key)


def test_every_typing_mistake_of_one_character_is_refused_offline() -> None:
    for _ in range(3):
        key = credentials.make_key(secrets.randbelow)
        for place in range(len(key)):
            for other in set(BASE62 + "_-. é") - {key[place]}:
                assert not credentials.is_well_formed(key[:place] + other + key[place + 1 :])
            assert not credentials.is_well_formed(key[:place] + key[place + 1 :])
            assert not credentials.is_well_formed(key[:place] + "x" + key[place:])


def test_two_neighbours_exchanged_are_refused() -> None:
    key = credentials.make_key(random.Random(11).randrange)
    for place in range(len(key) - 1):
        if key[place] != key[place + 1]:
            exchanged = key[:place] + key[place + 1] + key[place] + key[place + 2 :]
            assert not credentials.is_well_formed(exchanged)


@pytest.mark.parametrize(
    "change", [str.lower, str.upper, str.swapcase, "{} ".format, "{}\n".format]
)
def test_a_key_is_taken_to_the_letter(change: "type[str]") -> None:
    assert not credentials.is_well_formed(change(credentials.make_key(random.Random(3).randrange)))


@given(st.text())
def test_any_text_may_be_asked_about(text: str) -> None:
    assert not credentials.is_well_formed(text)
    assert not credentials.is_well_formed(f"soc_live_{text}")


def test_only_a_digest_and_the_last_four_are_kept() -> None:
    key = credentials.make_key(secrets.randbelow)

    assert credentials.key_digest(key) == hashlib.sha256(key.encode("ascii")).digest()
    assert credentials.last4(key) == key[43:]


def test_an_identifier_is_drawn_apart_from_the_key() -> None:
    assert credentials.make_id(credentials.KEY_ID, lambda below: 0) == "k_000000000000"
    assert credentials.make_id(credentials.ACCOUNT_ID, lambda below: below - 1) == "a_zzzzzzzzzzzz"


def test_every_character_is_as_likely_as_another() -> None:
    asked: list[int] = []

    def draw(below: int) -> int:
        asked.append(below)
        return 0

    credentials.make_key(draw)

    assert asked == [62] * 32


def test_a_hash_is_that_of_rfc_9106_and_the_hash_of_nobody_costs_as_much() -> None:
    """Servers of the tests make cheaper ones (tests/serve/conftest.py)."""
    hashed = credentials.hash_password("correct cheval pile agrafe")

    assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=1$")
    assert not credentials.HASHER.check_needs_rehash(credentials.NOBODY)
    assert not credentials.is_right_password("", None)
