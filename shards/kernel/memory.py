"""The records of `types.py` in the memory of the compiled modules.

A field is 8 bytes: a number, or the address of an array or of another record. A field with a value for each order is
seven values of 8 bytes. Interpreted modules use the records as they are.
"""

import struct
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards.kernel import search, types

# Whether the modules of the kernel are compiled; tests also run them as Python.
COMPILED: Final = not search.__file__.endswith(".py")

# Element types of arrays (NumPy) -> codes of `memoryview.cast`.
_CODES: Final = {
    "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i2": "h", "i4": "i", "i8": "q", "f8": "d",
}  # fmt: skip


def view(array: NDArray[Any]) -> memoryview:
    """A view of an array for a field of a record: elements are Python numbers, an index outside the array raises."""
    code: Any = _CODES[array.dtype.str[1:]]
    buffer: Any = array
    return memoryview(buffer).cast("B").cast(code) if array.size else memoryview(b"").cast(code)


class Memory:
    """C copies of records, valid as long as this object lives."""

    def __init__(self) -> None:
        self._kept_alive: list[object] = []

    def place(self, record: object) -> Any:
        """The argument for functions of `shards.kernel`: the address of a copy; if uncompiled, the record itself."""
        self._kept_alive.append(record)
        return self._array(self._fields(record)) if COMPILED else record

    def place_mutable(self, record: object, fields: int) -> "MutableRecord":
        """Place a record whose first `fields` fields will change; these fields must be numbers."""
        packed = bytearray(self._fields(record))
        self._kept_alive.append(record)
        return MutableRecord(record, packed, fields)

    def _fields(self, record: Any) -> bytes:
        """The bytes of a record as a C struct: its fields, in the order in which its class declares them.

        A number is stored itself; for arrays and records, their address.
        """
        codes = ""
        values: list[float] = []
        for name, kind in type(record).__annotations__.items():
            value = getattr(record, name)
            # A list of numbers or arrays is an array inside the record; a list of records is an address.
            is_array_field = (
                isinstance(value, list)
                and bool(value)
                and isinstance(value[0], int | memoryview | bytes)
            )
            elements = value if is_array_field else (value,)
            if isinstance(elements[0], int | float):
                codes += _code(kind) * len(elements)
                values += elements
            else:
                codes += "Q" * len(elements)
                values += map(self._address, elements)
        return struct.pack(f"<{codes}", *values)

    def _address(self, value: Any) -> int:
        """The address of an array, a record, or an array of addresses of records; records are copied to C memory."""
        if isinstance(value, memoryview | bytes):
            return address_of(value)
        if isinstance(value, Sequence):
            return self._array(struct.pack(f"<{len(value)}Q", *self._places(value)))
        address: int = self.place(value)
        return address

    def _places(self, records: Sequence[object]) -> Sequence[int]:
        """Place records of one class one after the other; return the address of each record."""
        self._kept_alive.append(records)
        packed = b"".join(map(self._fields, records))
        start, record_size = self._array(packed), len(packed) // max(1, len(records))
        return range(start, start + len(packed), record_size) if records else ()

    def _array(self, packed: bytes) -> int:
        """The address of a copy of these bytes, which this object keeps alive."""
        copy = bytearray(packed)
        self._kept_alive.append(copy)
        return address_of(memoryview(copy))


class MutableRecord:
    """A placed record: the caller sets its first fields for each search or look-up, then calls `write`."""

    def __init__(self, record: object, packed: bytearray, fields: int) -> None:
        """Prepare `write`: `packed` is the C copy of the record, whose first `fields` fields are numbers."""
        kinds = dict(list(type(record).__annotations__.items())[:fields])
        self._struct = struct.Struct("<" + "".join(map(_code, kinds.values())))
        self._values = attrgetter(*kinds)
        self._record, self._packed = record, packed
        self.address: Any = address_of(memoryview(packed)) if COMPILED else record

    def write(self) -> None:
        """Copy the values of the first fields to the memory of the compiled modules."""
        if COMPILED:
            self._struct.pack_into(self._packed, 0, *self._values(self._record))


def _code(kind: object) -> str:
    """The `struct` code of a number with this declared type."""
    if kind is types.f64:
        return "d"
    return "Q" if kind is types.u64 else "q"


def kernel_array(array: NDArray[Any]) -> Any:
    """An array as an argument of functions of `shards.kernel`: its address; if uncompiled, a view."""
    return address_of(array) if COMPILED else view(array)


def address_of(value: memoryview | bytes | NDArray[Any]) -> int:
    """The address of the first byte of an array; 0 if the array is empty."""
    if not len(value):
        return 0
    address: int = np.frombuffer(value, np.uint8).__array_interface__["data"][0]
    return address
