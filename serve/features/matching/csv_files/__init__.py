"""Lists of companies as files: the bytes of a CSV file of whatever origin become lines to match (extensions X5).

`xlsx_file` writes the first sheet of an Excel workbook as CSV, which then is read as any other.
`encodings` makes text of bytes, `list_file` makes a table of the text and says what it understood (`first_row`: whether
it has headings), `table_lines` makes lines of the table, with an error where a row is none.
"""
