"""The workbook of an export: its data, its sheets and the order in which they are written.

Start at `export_request` (input and result) and `book` (the sheets in order), then `export_data`, which is read before
a cell is written. Each `*_sheet` file writes one sheet or a few, with the texts of `labels`: `intro_sheet`,
`scope_sheets` (with `filter_lines`, the search in words, and `aggregates`), `list_sheets` (columns: `list_columns`),
`key_figures_sheet`, `statement_lists`, `statement_sheet` (figures: `company_accounts`, `ratio_formulas`), and
`reference_sheets`. They write through `sheet`, the public interface of xlsxwriter with the texts of registers made
harmless (`cell_values`) in the formats of `styles`; `table_sheet` writes long lists, `chart_table` small tables.
"""
