"""The workbook of an export: its data, its sheets and the process that writes it.

Start at `export_request` (input and result) and `book` (the sheets in order), then `export_data`, which is read before
a cell is written. Each `*_sheet` file writes one sheet or a few, with the texts of `labels`; the columns of the
long lists are in `list_columns`, annual accounts in `company_accounts`. `sheet`, `styles`, `cell_values` (and names of sheets: F8, F9), `row_xml`
and `chart_table` write cells. `filter_lines` words the search, `aggregates` counts its companies; `intro_sheet`,
`scope_sheets` and `reference_sheets` are about the file as a whole. `package` is what xlsxwriter has no setting for.
"""
