"""The page of lists: a list in (`matching`, with `columns` chosen), verdicts out (`match_csv`), companies `chosen`."""
