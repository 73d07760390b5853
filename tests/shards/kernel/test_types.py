"""types.py and types.pxd say the same: constants, fields and their order."""

import re
from pathlib import Path

from shards.kernel import types

HEADER = Path(types.__file__).with_suffix(".pxd").read_text()


def test_every_struct_has_the_fields_of_its_class() -> None:
    structs = re.findall(r"cdef struct (\w+)Fields:\n((?:    .+\n)+)", HEADER)

    assert len(structs) == 8
    for name, body in structs:
        fields = [line.split()[-1] for line in body.splitlines()]
        assert fields == list(getattr(types, name).__annotations__)


def test_every_constant_has_the_same_value() -> None:
    constants = dict(re.findall(r"^    ([A-Z_0-9]+) = (-?\d+)$", HEADER, re.MULTILINE))

    assert {name: int(value) for name, value in constants.items()} == {
        name: value for name, value in vars(types).items() if isinstance(value, int)
    }
