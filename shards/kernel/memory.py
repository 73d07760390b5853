"""The records of `types.py` in the memory of the compiled modules.

A field is 8 bytes: a number, or the address of an array or of another record; seven of them where there
is one for each order. Interpreted modules use the records as they are.
"""

import struct
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards.kernel import search, types

COMPILED: Final = not search.__file__.endswith(".py")

# Element types of arrays (NumPy) -> codes of `memoryview.cast`.
_CODES: Final = {
    "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i2": "h", "i4": "i", "i8": "q", "f8": "d",
}  # fmt: skip


def view(array: NDArray[Any]) -> memoryview:
    """An array as a record holds it: elements are Python numbers, and an index outside raises."""
    code: Any = _CODES[array.dtype.str[1:]]
    held: Any = array
    return memoryview(held).cast("B").cast(code) if array.size else memoryview(b"").cast(code)


class Memory:
    """C copies of records, valid as long as this object lives."""

    def __init__(self) -> None:
        self._held: list[object] = []

    def place(self, record: object) -> Any:
        """What the functions of `shards.kernel` take for `record`: its address, if compiled."""
        self._held.append(record)
        return self._array(self._fields(record)) if COMPILED else record

    def place_mutable(self, record: object, fields: int) -> "MutableRecord":
        """Place a record of which the first `fields`, all of them numbers, will change."""
        packed = bytearray(self._fields(record))
        self._held.append(record)
        return MutableRecord(record, packed, fields)

    def _fields(self, record: Any) -> bytes:
        """The fields of a record, in the order in which its class declares them."""
        codes = ""
        values: list[float] = []
        for name, kind in type(record).__annotations__.items():
            value = getattr(record, name)
            inline = (
                isinstance(value, list)
                and bool(value)
                and isinstance(value[0], int | memoryview | bytes)
            )
            held = value if inline else (value,)
            if isinstance(held[0], int | float):
                codes += _code(kind) * len(held)
                values += held
            else:
                codes += "Q" * len(held)
                values += map(self._address, held)
        return struct.pack(f"<{codes}", *values)

    def _address(self, value: Any) -> int:
        """The address of an array, of a record, or of an array of the addresses of records."""
        if isinstance(value, memoryview | bytes):
            return address_of(value)
        if isinstance(value, Sequence):
            return self._array(struct.pack(f"<{len(value)}Q", *self._places(value)))
        address: int = self.place(value)
        return address

    def _places(self, records: Sequence[object]) -> Sequence[int]:
        """The addresses of records of one class, which are placed side by side."""
        self._held.append(records)
        packed = b"".join(map(self._fields, records))
        first, size = self._array(packed), len(packed) // max(1, len(records))
        return range(first, first + len(packed), size) if records else ()

    def _array(self, packed: bytes) -> int:
        held = bytearray(packed)
        self._held.append(held)
        return address_of(memoryview(held))


class MutableRecord:
    """A placed record whose first fields are set anew for each search or look-up, and then written."""

    def __init__(self, record: object, packed: bytearray, fields: int) -> None:
        kinds = dict(list(type(record).__annotations__.items())[:fields])
        self._struct = struct.Struct("<" + "".join(map(_code, kinds.values())))
        self._values = attrgetter(*kinds)
        self._record, self._packed = record, packed
        self.address: Any = address_of(memoryview(packed)) if COMPILED else record

    def write(self) -> None:
        """Write the first fields as they are set in the record."""
        if COMPILED:
            self._struct.pack_into(self._packed, 0, *self._values(self._record))


def _code(kind: object) -> str:
    """How a number is packed that is declared as of this kind."""
    if kind is types.f64:
        return "d"
    return "Q" if kind is types.u64 else "q"


def kernel_array(array: NDArray[Any]) -> Any:
    """An array as functions of `shards.kernel` take it: its address, or a view where they run uncompiled."""
    return address_of(array) if COMPILED else view(array)


def address_of(value: memoryview | bytes | NDArray[Any]) -> int:
    """Where the bytes of an array begin; 0 if it is empty."""
    if not len(value):
        return 0
    found: int = np.frombuffer(value, np.uint8).__array_interface__["data"][0]
    return found
