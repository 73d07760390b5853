"""Query strings by keyword, and errors by parameter: what the tests of serve/request/reader.py share."""

import pytest

from serve.contract import parameters
from serve.contract.errors import ApiError
from serve.request import place_names, reader
from serve.request.reader import ParsedParameters
from shards.query import Query
from tests.serve.world import COMPANIES, LISTS

NAMES = place_names.read(LISTS, {one["forme"] for one in COMPANIES if one["forme"]})


def search(**given: str) -> ParsedParameters:
    return reader.read(list(given.items()), parameters.SEARCH, NAMES)


def query(**given: str) -> Query:
    return search(**given).query


def refused(*given: tuple[str, str]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        reader.read(given, parameters.SEARCH, NAMES)
    assert caught.value.status == 400
    return caught.value


def invalid(name: str, value: str) -> ApiError:
    """The error must be about that parameter and show its value."""
    error = refused((name, value))
    assert (error.code, error.extra["parametre"]) == ("parametre_invalide", name)
    assert error.message.startswith(name)
    return error
