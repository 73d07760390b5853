"""The workbook of an export: its data, its sheets and the order in which they are written.

Start with `export_data` (the request, and the data that are read before any cell) and `book` (the sheets in order).
`export_sheets` are about the complete export, `list_sheets` have a row per company or line, `key_figures_sheet` and
`statement_sheet` show `company_accounts`. Texts, and the search in words, are those of `labels`. `table_sheet` writes
long lists and `chart_table` small tables with a chart, both through `sheet`, which has the formats, makes the texts of
registers harmless, and uses only the public interface of xlsxwriter.
"""
