"""One-off: header of a module from its Python source."""

import sys

noexc = {
    "lower",
    "lower_key",
    "position_of",
    "headcount_step",
    "compare",
    "suffix_place",
    "id_place",
    "push",
    "popcount",
    "has_bit",
    "first_suffix",
}
EXTRA = sys.argv[2:]
