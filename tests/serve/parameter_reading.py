"""Read query strings that are given by keyword: helpers for tests of serve/request/reader.py."""

import pytest

from serve.contract import parameters
from serve.contract.errors import ApiError
from serve.request import place_names, reader
from serve.request.reader import ParsedParameters
from shards.query import Query
from tests.serve.world import COMPANIES, LISTS

NAMES = place_names.read(LISTS, {company["forme"] for company in COMPANIES if company["forme"]})


def read_search(**values: str) -> ParsedParameters:
    """Read the parameters of a search, as the server reads a query string."""
    return reader.read(list(values.items()), parameters.SEARCH, NAMES)


def read_query(**values: str) -> Query:
    """The query of a search with these parameters."""
    return read_search(**values).query


def refusal(*pairs: tuple[str, str]) -> ApiError:
    """The error of a search with these parameters. Its status must be 400."""
    with pytest.raises(ApiError) as caught:
        reader.read(pairs, parameters.SEARCH, NAMES)
    assert caught.value.status == 400
    return caught.value


def invalid_value(name: str, value: str) -> ApiError:
    """The error of a parameter with this value. It must name the parameter."""
    error = refusal((name, value))
    assert (error.code, error.extra["parametre"]) == ("parametre_invalide", name)
    assert error.message.startswith(name)
    return error
