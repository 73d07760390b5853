"""The C headers that are made of `types.py` and of the functions of the kernel."""

import sys
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType

import pytest

from shards.kernel import headers, types

RECORDS = """
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
# Of these records.
STRUCTS = """
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
FIND = """
def damaged() -> i64:
    raise ValueError

def place(numbers: u32s, row: i64) -> i64:
    return row if row else first(numbers)

def first(numbers: u32s) -> i64:
    return damaged()
"""
TEXT = """
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
    spec = spec_from_loader("records", loader=None)
    assert spec
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "records", module)
    exec(RECORDS, vars(module))
    return module


def test_a_record_is_a_struct_with_its_fields_in_their_order(records: ModuleType) -> None:
    assert STRUCTS in headers.types_header(records)


def test_a_function_that_calls_one_that_raises_is_declared_to_raise() -> None:
    made = headers.function_headers({"shards.kernel.find": FIND, "shards.suggest.key": TEXT})

    assert made["shards.kernel.find"].splitlines() == [
        "cdef i64 damaged() except? -1 nogil",
        "cdef i64 place(u32s numbers, i64 row) except? -1 nogil",
        "cdef i64 first(u32s numbers) except? -1 nogil",
    ]
    assert made["shards.suggest.key"].splitlines() == [
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
