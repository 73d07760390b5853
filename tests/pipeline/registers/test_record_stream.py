"""Records are the same wherever a chunk of the file ends."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.registers import record_stream
from pipeline.registers.record_stream import RecordError

# Small JSON values of any kind.
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=4), below, max_size=3),
    max_leaves=8,
)  # fmt: skip


def test_a_line_a_value_and_an_element_without_end_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fixed: a line of a gigabyte took four gigabytes of memory."""
    monkeypatch.setattr(record_stream, "LONGEST", 1_000)
    monkeypatch.setattr(record_stream, "_LONGEST_XML", 100_000)
    monkeypatch.setattr(record_stream, "CHUNK", 100)
    long_text = '"' + "x" * 2_000 + '"'
    many_records = "<a>" + "<r>y</r>" * 50_000 + "</a>"

    with pytest.raises(RecordError, match="line 2 is longer than"):
        list(record_stream.json_lines(io.BytesIO(f"1\n{long_text}\n".encode())))
    with pytest.raises(RecordError, match="a value is longer than"):
        list(record_stream.json_items(io.BytesIO(f"[1, {long_text[:-1]}".encode()), [], {}))
    with pytest.raises(RecordError, match="without a record"):
        list(record_stream.xml_elements(io.BytesIO(many_records.replace("r>", "b>").encode()), "r"))
    assert len(list(record_stream.xml_elements(io.BytesIO(many_records.encode()), "r"))) == 50_000


@given(
    records=st.lists(JSON_VALUES, max_size=5),
    chunk_bytes=st.integers(1, 40),
    has_byte_order_mark=st.booleans(),
)
def test_json_items_are_the_same_for_any_size_of_chunk(
    records: list[object], chunk_bytes: int, has_byte_order_mark: bool
) -> None:
    body = {"count": 1, "data": {"items": records}, "licence": "é"}
    content = json.dumps(body, ensure_ascii=False, indent=1).encode(
        "utf-8-sig" if has_byte_order_mark else "utf-8"
    )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_stream, "CHUNK", chunk_bytes)
        stream = io.BytesIO(content)
        result = list(
            record_stream.json_items(stream, ["data", "items"], {"count": "", "licence": ""})
        )

    assert result == records


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"data": [1, 2', "expected ','"),
        ('{"data": [1] }]', "text after the end"),
        ('{"datum": [1]}', "unknown key 'datum' beside 'data'"),
        ("{}", "no key 'data'"),
        ("12", "no object with the key 'data'"),
        ('{"data": [\xff]}', "not JSON"),
    ],
)
def test_json_of_another_structure_is_refused(text: str, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        list(record_stream.json_items(io.BytesIO(text.encode()), ["data"], {}))


def test_a_line_that_is_not_json_is_named() -> None:
    with pytest.raises(RecordError, match="line 3 is not JSON"):
        list(record_stream.json_lines(io.BytesIO(b'{"a":1}\n\n{"a":\n')))


def test_xml_elements_become_plain_values() -> None:
    xml = (
        '<l:Data xmlns:l="urn:l" xmlns:g="urn:g"><l:Head/><l:Record><l:Name xml:lang="fr">É&amp;B</l:Name>'
        "<l:Line>1</l:Line><l:Line>2</l:Line><g:Flag/></l:Record><l:Record/></l:Data>"
    )

    assert list(record_stream.xml_elements(io.BytesIO(xml.encode()), "Record")) == [
        {"Name": {"@xml:lang": "fr", "$": "É&B"}, "Line": [{"$": "1"}, {"$": "2"}], "g:Flag": {}},
        {},
    ]
    with pytest.raises(RecordError, match="no XML"):
        list(record_stream.xml_elements(io.BytesIO(xml[:-9].encode()), "Record"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_refused(encoding: str) -> None:
    """Fixed: nested entities turned a kilobyte into several gigabytes of memory."""
    nested_entities = "".join(
        f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 9)
    )
    xml = f'<?xml version="1.0"?><!-- é --><!DOCTYPE a [<!ENTITY l0 "ha">{nested_entities}]><a><r>&l8;</r></a>'

    with pytest.raises(RecordError, match="document type 'a'"):
        list(record_stream.xml_elements(io.BytesIO(xml.encode(encoding)), "r"))
    assert list(record_stream.xml_elements(io.BytesIO(b"<a><r>1</r></a>"), "r")) == [{"$": "1"}]


def test_values_that_are_nested_too_deeply_are_refused() -> None:
    nested_arrays = b"[" * 200_000
    with pytest.raises(RecordError, match="nested too deeply"):
        list(record_stream.json_items(io.BytesIO(b'{"a":' * 100_000), ["b"], {"a": ""}))
    with pytest.raises(RecordError, match="nested too deeply"):
        list(record_stream.json_items(io.BytesIO(b'{"a":' + nested_arrays), ["b"], {"a": ""}))
    with pytest.raises(RecordError, match="line 1 is not JSON"):
        list(record_stream.json_lines(io.BytesIO(nested_arrays)))
    with pytest.raises(RecordError, match="nested too deeply"):
        list(record_stream.xml_elements(io.BytesIO(b"<r>" * 100_000), "r"))
