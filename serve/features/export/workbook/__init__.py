"""The workbook of an export: its data, its sheets and the order in which they are written.

Start at `export_data` (the request, and the data read before a cell is written) and `book` (the sheets in order). Each
`*_sheet` file writes one sheet or a few, with the texts of `labels`: `scope_sheets` (the search in words:
`filter_lines`), `list_sheets` (columns: `list_columns`), `key_figures_sheet`, `statement_sheet` (figures:
`company_accounts`, `ratio_formulas`), and `reference_sheets`. They write through `sheet`, the public interface of
xlsxwriter; `cells` has the formats and makes the texts of registers harmless; `table_sheet` writes long lists,
`chart_table` small tables.
"""
