"""The content of log lines (G11, A5)."""

import logging

import orjson
import pytest

from serve.contract.secret_mask import redact
from serve.http.connection import query_fields
from serve.http.reply import request_id
from serve.observe.log import JsonLines
from serve.request.client_address import network_of

# A redacted text must not contain KEY[9:], the part after the prefix `soc_live_`.
KEY = "soc_live_" + "aB3" * 10 + "zzzzzz"


@pytest.mark.parametrize(
    "text",
    [
        f"cle={KEY}&x=1",
        f"Authorization: Bearer {KEY}",
        f"/{KEY}/",
        f'"{KEY}"',
        f"SOC_LIVE_{KEY[9:]}",
        f"bearer  {KEY[9:]}",
        f"/api/soc%5Flive_{KEY[9:]}",
        f"/%73%6F%63%5f%6c%69%76%65%5F{KEY[9:]}/",
        f"cle=soc%255flive%25255F{KEY[9:]}",
        f"Bearer%20{KEY[9:]}",
        f"%42earer+{KEY[9:]}",
        f"Bearer%2520{KEY[9:]}",
        f"/x?cle=%%37%33oc%5Flive%5F{KEY[9:]}&y=1",
        f"%2%35%373oc_li%76e_{KEY[9:]}",
        f"s%252525256fc_rec_{KEY[9:]}",
        f"soc%{'25' * 7}5Flive_{KEY[9:]}",
        f"soc%{'25' * 500}5Flive_{KEY[9:]}",
        f"é%C3%A9%00soc_lien_{KEY[9:]}",
    ],
)
def test_a_key_in_any_encoding_is_redacted(text: str) -> None:
    """G11"""
    assert KEY[9:] not in redact(text)
    assert "…" in redact(text)


@pytest.mark.parametrize(
    "text", ["100 % societe", "/x?q=caf%C3%A9%20soci%25C3%25A9t%C3%A9", "%", "%zz%%"]
)
def test_a_text_without_a_key_does_not_change(text: str) -> None:
    assert redact(text) == text


def test_only_the_encoded_key_of_a_line_is_replaced() -> None:
    line = f'{{"path": "/x", "query": {{"q": ["Lyon", "%2573oc_live_{KEY[9:]}"], "pays": ["FR"]}}}}'

    assert redact(line) == '{"path": "/x", "query": {"q": ["Lyon", "…"], "pays": ["FR"]}}'


def test_an_unknown_parameter_is_logged_without_its_value() -> None:
    """A5"""
    fields = query_fields([("api_key", "secret"), ("q", "Orléans"), ("q", "Lyon")])

    assert fields == {"api_key": [], "q": ["Orléans", "Lyon"]}


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.77", "203.0.113.0/24"),
        ("2001:db8:aaaa:bbbb::1", "2001:db8:aaaa::/48"),
        ("::ffff:203.0.113.77", "203.0.113.0/24"),
        (None, None),
        ("unix", None),
    ],
)
def test_an_address_is_truncated_to_its_network(address: str | None, network: str | None) -> None:
    """G11"""
    assert network_of(address) == network


def test_a_line_is_json_even_if_bytes_are_not_text() -> None:
    record = logging.LogRecord("serve", logging.INFO, "", 0, "request", None, None)
    record.fields = {"path": "/\udcff", "query": {"q\udcff": ["\udcff", KEY]}, "status": 404}

    line = orjson.loads(JsonLines().format(record))

    assert (line["event"], line["level"], line["status"]) == ("request", "info", 404)
    assert line["path"] == "/?"
    assert line["query"] == {"q?": ["?", "soc_live_…"]}


def test_a_traceback_is_part_of_its_line() -> None:
    try:
        raise ValueError(KEY)
    except ValueError as error:
        exception = (type(error), error, error.__traceback__)
    record = logging.LogRecord("serve", logging.ERROR, "", 0, "failed", None, exception)

    text = JsonLines().format(record)

    assert "ValueError" in orjson.loads(text)["traceback"]
    assert KEY not in text
    assert "\n" not in text


@pytest.mark.parametrize("value", ["abc-123", "req:7/a=", "A" * 128])
def test_a_valid_request_id_is_kept(value: str) -> None:
    """G7"""
    assert request_id(value) == value


@pytest.mark.parametrize("value", [None, "", "A" * 129, "a b", 'a"b', "é", "a\n"])
def test_any_other_request_id_is_replaced(value: str | None) -> None:
    """G7"""
    replacement = request_id(value)

    assert replacement != value
    assert request_id(replacement) == replacement
    assert request_id(value) != replacement
