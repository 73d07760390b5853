"""libzstd of this machine, by address: compiled code decompresses the records of a page in one call.

The package `zstandard` has no such function, and keeps its own copy of the library to itself. libzstd is part of nearly
every Linux system, because the package managers use it; where it is missing, records are decompressed one by one.
"""

import ctypes
import weakref
from functools import cache
from typing import Any, Final

_FORMAT: Final = 1000  # ZSTD_d_format: frames begin with or without their magic number
_MAGICLESS: Final = 1


class LibZstd:
    """The functions of libzstd that records need."""

    def __init__(self, library: Any) -> None:
        self._library = library
        for name in ("ZSTD_createDCtx", "ZSTD_createDDict"):
            getattr(library, name).restype = ctypes.c_void_p
        library.ZSTD_createDDict.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        library.ZSTD_DCtx_setParameter.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
        for name in ("ZSTD_freeDCtx", "ZSTD_freeDDict"):
            getattr(library, name).argtypes = [ctypes.c_void_p]
        function = ctypes.cast(library.ZSTD_decompress_usingDDict, ctypes.c_void_p)
        self.decompress = function.value

    def context(self, owner: object) -> int:
        """The address of a decompression context, which lives as long as its owner."""
        made: int = self._library.ZSTD_createDCtx()
        weakref.finalize(owner, self._library.ZSTD_freeDCtx, made)
        self._library.ZSTD_DCtx_setParameter(made, _FORMAT, _MAGICLESS)
        return made

    def dictionary(self, owner: object, content: bytes) -> int:
        """The address of a prepared dictionary, which lives as long as its owner; an empty one has none."""
        made: int = self._library.ZSTD_createDDict(content, len(content))
        weakref.finalize(owner, self._library.ZSTD_freeDDict, made)
        return made


@cache
def libzstd() -> LibZstd | None:
    """The library; None where this machine has none."""
    try:
        return LibZstd(ctypes.CDLL("libzstd.so.1"))
    except (OSError, AttributeError):
        return None
