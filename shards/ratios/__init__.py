"""Ratios of annual accounts: formulas as data, and their values for a company.

Read `ratio_table` (the rows of `seeds/ratios.csv` and the language of their formulas), then `accounts` (statement lines
of a company as figures by year, in euros by `seeds/taux.csv`; the same formulas for the last year of many companies at
once). `distribution` has quantiles and concentrations of figures.
"""
