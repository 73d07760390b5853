"""The annual accounts in a workbook: one sheet per company, and three that put the companies side by side.

Read `company_accounts` (figures and ratios by year) and `ratio_formulas` (the formulas of `seeds/ratios.csv` as those
of cells). `statement_sheet` is the sheet of a company, `key_figures_sheet` a row per company, `line_sheet` a row per
line and year, for pivots, `index_sheet` the list of the sheets. `statement_labels` names lines.
"""
