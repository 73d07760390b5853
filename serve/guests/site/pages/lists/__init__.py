"""The page of lists: a list comes in, verdicts are reviewed, and the companies that were chosen go out.

Read `matching` first. `csv_files` makes lines of the bytes that come in. `columns` has the choice above each column,
`match_csv` the file of verdicts, `offers` the signed candidates; `chosen_companies` opens the companies as a
search or makes the workbook of them.
"""
