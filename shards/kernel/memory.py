"""The records of `types.py` in the memory of the compiled modules.

A field is 8 bytes: a number, or the address of an array or of another record; seven of them where there
is one for each order. Interpreted modules use the records as they are.
"""

import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards.kernel import search

COMPILED: Final = not search.__file__.endswith(".py")

# Element types of arrays (NumPy) -> codes of `memoryview.cast`.
_CODES: Final = {
    "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i2": "h", "i4": "i", "i8": "q", "f8": "d",
}  # fmt: skip


def view(array: NDArray[Any]) -> memoryview:
    """An array as a record holds it: elements are Python numbers, and an index outside raises."""
    code: Any = _CODES[array.dtype.str[1:]]
    return memoryview(array).cast("B").cast(code) if array.size else memoryview(b"").cast(code)


class Memory:
    """C copies of records, valid as long as this object lives."""

    def __init__(self) -> None:
        self._held: list[object] = []

    def place(self, record: object) -> Any:
        """What the functions of `shards.kernel` take for `record`: its address, if compiled."""
        self._held.append(record)
        return self._array(_fields(record, self._address)) if COMPILED else record

    def _address(self, value: Any) -> int:
        """The address of an array, of a record, or of an array of the addresses of records."""
        if isinstance(value, memoryview):
            return _address_of(value)
        if isinstance(value, Sequence):
            return self._array(b"".join(struct.pack("<Q", self.place(one)) for one in value))
        address: int = self.place(value)
        return address

    def _array(self, packed: bytes) -> int:
        held = bytearray(packed)
        self._held.append(held)
        return _address_of(memoryview(held))


def _fields(record: Any, address: Any) -> bytes:
    """The fields of a record, in the order in which its class declares them."""
    packed = bytearray()
    for name, kind in type(record).__annotations__.items():
        value = getattr(record, name)
        inline = isinstance(value, list) and not _holds_records(value)
        for one in value if inline else (value,):
            if kind is float:
                packed += struct.pack("<d", one)
            elif isinstance(one, int):
                packed += (one & (2**64 - 1)).to_bytes(8, "little")
            else:
                packed += address(one).to_bytes(8, "little")
    return bytes(packed)


def _holds_records(values: list[Any]) -> bool:
    return not values or not isinstance(values[0], int | memoryview)


def _address_of(value: memoryview) -> int:
    if not value.nbytes:
        return 0
    found: int = np.frombuffer(value, np.uint8).__array_interface__["data"][0]
    return found
