"""Filed accounts: readers of statements, and the one chart of codes that they are brought to.

Read `chart` (the lines of all countries, `seeds/postes.csv`), then `taxonomy` (what a source's
elements are on the chart, `seeds/elements.csv`) and `statement_rows` (amounts become canonical
rows). `filing` gives the facts of one filing, `statement` chooses among them, `outcome` accounts for all.
"""
