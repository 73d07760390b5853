"""The table of LEI and VAT numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shards.codec import codes


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["EE1", "ee 1", "EE2", "é", "LEI"]))))
def test_pairs_of_hash_and_row_are_sorted_without_repeats(pairs: list[tuple[int, str]]) -> None:
    table = codes.alias_table(pairs)

    expected = sorted({(codes.alias_key(number), row) for row, number in pairs})
    result = list(zip(table["keys"].tolist(), table["rows"].tolist(), strict=True))
    assert result == expected
    assert (table["keys"].dtype, table["rows"].dtype) == (np.dtype("<u8"), np.dtype("<u4"))
