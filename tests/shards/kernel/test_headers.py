"""The C headers, generated from `types.py` and the functions of the kernel."""

import sys
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType

import pytest

from shards.kernel import headers, types

TYPES_SOURCE = """
from collections.abc import Callable
from typing import Annotated, Final, TypeVar

count = Annotated[int, "long long"]
texts = Annotated[bytes, "const unsigned char*"]
Inflate = Annotated[Callable[..., int], "int (*)(void*) nogil"]
LEAST: Final = -2
SLOTS: Final = 3
PerSlot = Annotated[list[TypeVar("Element")], SLOTS]
class Row:
    place: count
    sizes: PerSlot[count]
    words: PerSlot[texts]
class Table:
    rows: list[Row]
    first: Row
"""
# The Cython header that must be generated from TYPES_SOURCE.
TYPES_HEADER = """
ctypedef long long count
ctypedef const unsigned char* texts
ctypedef int (*Inflate)(void*) nogil

cdef enum:
    LEAST = -2
    SLOTS = 3

cdef struct RowFields:
    count place
    count[3] sizes
    texts[3] words
ctypedef RowFields* Row

cdef struct TableFields:
    RowFields** rows
    RowFields* first
ctypedef TableFields* Table
"""
# `place` raises because it calls `first`, which calls `damaged`.
FIND_SOURCE = """
def damaged() -> i64:
    raise ValueError

def place(numbers: u32s, row: i64) -> i64:
    return row if row else first(numbers)

def first(numbers: u32s) -> i64:
    return damaged()
"""
# `key` calls no function; its variable `damaged` is not the function of FIND_SOURCE.
KEY_SOURCE = """
if not cython.compiled:
    from shards.kernel.find import first, place
    from shards.kernel.types import *

def key(row: i64) -> f64:
    damaged = row
    return damaged

def longest(numbers: u32s) -> i64:
    return place(numbers, 1)

def run(table: Address) -> int:
    return 0
"""


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The text TYPES_SOURCE as the imported module `records`, so that its records can be tested as Python classes."""
    spec = spec_from_loader("records", loader=None)
    assert spec
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "records", module)
    exec(TYPES_SOURCE, vars(module))
    return module


def test_a_record_is_a_struct_with_its_fields_in_their_order(records: ModuleType) -> None:
    assert TYPES_HEADER in headers.types_header(records)


def test_a_function_that_calls_one_that_raises_is_declared_to_raise() -> None:
    """In Cython `except? -1` means that the function can raise, `noexcept` that it cannot."""
    result = headers.function_headers(
        {"shards.kernel.find": FIND_SOURCE, "shards.suggest.key": KEY_SOURCE}
    )

    assert result["shards.kernel.find"].splitlines() == [
        "cdef i64 damaged() except? -1 nogil",
        "cdef i64 place(u32s numbers, i64 row) except? -1 nogil",
        "cdef i64 first(u32s numbers) except? -1 nogil",
    ]
    assert result["shards.suggest.key"].splitlines() == [
        "from shards.kernel.find cimport first, place",
        "from shards.kernel.types cimport *",
        "cdef f64 key(i64 row) noexcept nogil",
        "cdef i64 longest(u32s numbers) except? -1 nogil",
    ]


def test_every_record_and_constant_of_the_kernel_is_in_its_header() -> None:
    lines = headers.types_header().splitlines()

    for name, value in vars(types).items():
        if isinstance(value, int):
            assert f"    {name} = {value}" in lines
        elif isinstance(value, type) and value.__module__ == types.__name__:
            assert f"ctypedef {name}Fields* {name}" in lines
