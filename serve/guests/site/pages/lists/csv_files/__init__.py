"""Lists of companies as files: the bytes of a CSV file of whatever origin become lines to match (extensions X5).

`encodings` makes text of bytes, `list_file` makes a table of the text and says what it understood (`first_row`: whether
it has headings), `table_lines` makes lines of the table, with an error where a row is none.
"""
