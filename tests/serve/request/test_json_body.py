"""The JSON body of POST /export as parameters (§4.7, F3)."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.contract.errors import ApiError
from serve.request import json_body


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"{}", []),
        (b'{"pays":"FR","limit":50}', [("pays", "FR"), ("limit", "50")]),
        (b'{"ca_min":1e6,"ca_max":-0.50}', [("ca_min", "1e6"), ("ca_max", "-0.50")]),
        ('{"q":"Orléans"}'.encode(), [("q", "Orléans")]),
        (b'{"q":"a","q":"b"}', [("q", "a"), ("q", "b")]),
        (b' {"tri" : ""} ', [("tri", "")]),
        (b'{"limit":' + b"9" * 300 + b"}", [("limit", "9" * 300)]),
        (b'{"nace":["62",64.10],"etat":[]}', [("nace", "62"), ("nace", "64.10")]),
    ],
)
def test_the_members_of_a_json_body_are_parameters_with_numbers_as_they_were_written(
    raw: bytes, expected: list[tuple[str, str]]
) -> None:
    """F3, B5"""
    assert list(json_body.pairs(raw)) == expected


@pytest.mark.parametrize(
    "raw",
    [b"", b"null", b"[]", b'"x"', b"1", b"{", b'{"a":1}x', b'{"q":"\xff"}', b'{"q":"\\ud800"}',
     b'{"limit":NaN}', b"[" * 60_000, b'{"a":' * 20_000, b"pays=FR", b"\xef\xbb\xbf{}"],
)  # fmt: skip
def test_a_body_that_is_not_a_json_object_is_refused(raw: bytes) -> None:
    """F3"""
    with pytest.raises(ApiError) as caught:
        json_body.pairs(raw)

    assert (caught.value.status, caught.value.code) == (400, "corps_invalide")


@pytest.mark.parametrize("value", ["null", "true", '[["FR"]]', "[null]", "{}", '{"a":"b"}'])
def test_a_member_that_is_neither_text_nor_number_is_named(value: str) -> None:
    """F3"""
    with pytest.raises(ApiError) as caught:
        json_body.pairs(f'{{"limit":5,"pays":{value}}}'.encode())

    assert (caught.value.code, caught.value.extra["parametre"]) == ("parametre_invalide", "pays")


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=9)))
def test_texts_of_a_body_are_unchanged_in_the_parameters(members: dict[str, str]) -> None:
    assert dict(json_body.pairs(orjson.dumps(members))) == members


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        json_body.pairs(raw)
    except ApiError as error:
        assert error.status == 400


@pytest.mark.parametrize(
    ("content_type", "is_json"),
    [
        ("application/json", True),
        ("Application/JSON; charset=UTF-8", True),
        ('application/json; charset="utf-8"', True),
        ("application/json; charset=utf-16", False),
        ("application/x-www-form-urlencoded", False),
        ("application/jsonx", False),
        ("text/json", False),
        ("", False),
        (None, False),
        ("\udcff", False),
    ],
)
def test_a_body_of_another_type_or_compressed_is_refused(
    content_type: str | None, is_json: bool
) -> None:
    """F3"""
    if is_json:
        json_body.check_kind(content_type, None)
        json_body.check_kind(content_type, "Identity")
    # A compressed body is refused whatever its type, a body of another type also if it is not compressed.
    for coding in ("gzip", *((None,) if not is_json else ())):
        with pytest.raises(ApiError) as caught:
            json_body.check_kind(content_type, coding)
        assert (caught.value.status, caught.value.code) == (415, "type_non_supporte")
        assert caught.value.body("fr")


@pytest.mark.parametrize("text", ["[" + "1," * 65_535 + "1]", '{"a":"' + ",[{" * 40_000 + '"}'])
def test_up_to_65536_values_are_read_and_commas_in_texts_are_not_counted(text: str) -> None:
    assert json_body.loads(text.encode(), json_body.unique_members)


@pytest.mark.parametrize(
    "text",
    [
        "[" + "1," * 65_536 + "1]",
        "{" + '"a":1,' * 70_000 + '"b":1}',
        "[" * 70_000,
        '["' + '\\"' * 9 + '",' + "{}," * 70_000,
        '"' + "," * 10 + '"' + "," * 70_000 + '"no end',
    ],
)
def test_more_than_65536_values_are_refused_before_they_are_parsed(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        json_body.loads(text.encode(), json_body.unique_members)

    assert "65536" in json_body.why_unreadable(text.encode(), caught.value).fr
