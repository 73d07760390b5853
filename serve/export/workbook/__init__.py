"""The workbook of an export: its data, its sheets and the process that writes it.

Start at `export_request` (input and result) and `book` (the sheets in order), then `export_data`, which
is read before a cell is written. Each `*_sheet` file writes one sheet or a few, with the texts of
`labels`. `sheet`, `styles`, `cell_values` and `chart_table` write cells; `list_columns` and `row_xml`
write the long lists as XML.
"""
