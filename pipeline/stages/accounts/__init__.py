"""Stages of statement lines.

`statement_lines` keeps the lines of the last five years, each once. `doubtful_accounts` withholds balance sheets that
do not close and turnovers of another scale than their neighbours'. `ratio_columns` has the ratios of the last year.
"""
