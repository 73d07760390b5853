"""Limits of the matching of lists, which its texts name as well (extensions X5)."""

from typing import Final

MOST_LINES: Final = 1_000  # of a request
LINES_PER_CALL: Final = 10  # a call of the day for each of so many begun
VISITOR_LINES: Final = 2  # of a request without a key
MOST_CANDIDATES: Final = 10  # of a line
DEFAULT_CANDIDATES: Final = 3
LONGEST_VALUE: Final = 300  # characters of a value of a line
