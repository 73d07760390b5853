"""Ratios of annual accounts: formulas as data, and their values for one company.

Read `formula` (the language of `seeds/ratios.csv`), then `ratio_table` (its rows) and `accounts`
(statement lines of a company as figures by year). `last_year` has the same formulas for all companies
at once, from the same parsed table; `distribution` compares them, `exchange_rates` reads `seeds/taux.csv`.
"""
