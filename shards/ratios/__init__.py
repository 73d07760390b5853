"""Ratios of annual accounts: formulas as data, and their values for one company.

Read `ratio_table` (the rows of `seeds/ratios.csv` and the language of their formulas), then `accounts` (statement lines
of a company as figures by year, in euros by `seeds/taux.csv`). `last_year` has the same formulas for all companies at
once, from the same parsed table; `distribution` compares them.
"""
