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

ANY_KEY = st.randoms(use_true_random=False).map(
    lambda chance: credentials.make_key(chance.randrange)
)
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


@given(ANY_KEY)
def test_a_key_is_the_prefix_then_32_characters_then_6_of_their_crc32(key: str) -> None:
    secret, check = key.removeprefix("soc_live_")[:32], key[-6:]
    check_number = 0
    for digit in check:
        check_number = check_number * 62 + BASE62.index(digit)

    assert len(key) == 47  # a prefix of 9, 32 random characters, a check sum of 6
    assert set(secret + check) <= set(BASE62)
    assert check_number == zlib.crc32(secret.encode())
    assert credentials.is_well_formed(key)


def test_every_typing_mistake_of_one_character_is_refused_offline() -> None:
    for _ in range(3):
        key = credentials.make_key(secrets.randbelow)
        for position in range(len(key)):
            for wrong_character in set(BASE62 + "_-. é") - {key[position]}:
                assert not credentials.is_well_formed(
                    key[:position] + wrong_character + key[position + 1 :]
                )
            assert not credentials.is_well_formed(key[:position] + key[position + 1 :])
            assert not credentials.is_well_formed(key[:position] + "x" + key[position:])


def test_a_key_with_two_neighbouring_characters_exchanged_is_refused() -> None:
    key = credentials.make_key(random.Random(11).randrange)
    for position in range(len(key) - 1):
        if key[position] != key[position + 1]:
            exchanged = key[:position] + key[position + 1] + key[position] + key[position + 2 :]
            assert not credentials.is_well_formed(exchanged)


@pytest.mark.parametrize(
    "change", [str.lower, str.upper, str.swapcase, "{} ".format, "{}\n".format]
)
def test_a_key_in_another_case_or_with_white_space_is_refused(change: "type[str]") -> None:
    assert not credentials.is_well_formed(change(credentials.make_key(random.Random(3).randrange)))


@given(st.text())
def test_no_text_makes_the_check_of_a_key_raise(text: str) -> None:
    assert not credentials.is_well_formed(text)
    assert not credentials.is_well_formed(f"soc_live_{text}")


def test_a_digest_and_the_last_four_characters_of_a_key_are_derived() -> None:
    key = credentials.make_key(secrets.randbelow)

    assert credentials.secret_digest(key) == hashlib.sha256(key.encode("ascii")).digest()
    assert credentials.last4(key) == key[43:]


def test_an_identifier_is_drawn_by_the_given_random_function() -> None:
    assert credentials.make_id(credentials.KEY_ID, lambda below: 0) == "k_000000000000"
    assert credentials.make_id(credentials.ACCOUNT_ID, lambda below: below - 1) == "a_zzzzzzzzzzzz"


def test_every_character_of_a_key_is_drawn_from_all_62() -> None:
    bounds: list[int] = []

    def note_bound(below: int) -> int:
        bounds.append(below)
        return 0

    credentials.make_key(note_bound)

    assert bounds == [62] * 32


def test_a_password_hash_follows_rfc_9106_and_the_hash_of_an_unknown_person_costs_as_much() -> None:
    """Servers of the tests make cheaper hashes (tests/serve/conftest.py)."""
    hashed = credentials.hash_password("correct cheval pile agrafe")

    assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=1$")
    assert not credentials.HASHER.check_needs_rehash(credentials.NOBODY)
    assert not credentials.is_right_password("", None)
