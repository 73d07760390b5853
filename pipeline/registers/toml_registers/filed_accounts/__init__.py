"""Registers of filed accounts that are published as tables.

Read `accounts_reader`, then its two steps: `filings` (which filing of a part and year counts) and
`account_lines` (the lines of the chart that its amounts are).
"""
