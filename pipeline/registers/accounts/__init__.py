"""Filed accounts: the chart of codes that all countries share, and the readers of accounts that are documents.

Read `chart` (the lines of all countries, and the elements of each source), `filing` (the facts of one filing)
and `statement` (chooses among the facts; amounts become canonical rows).

Accounts that are documents (XBRL, XML or JSON) are imported by `account_import`: it unpacks the documents, calls the
reader of the source, keeps the last filed line of each year, and counts every filing. A source is a function from a
document to the accounts in it, and its rows in `seeds/elements.csv`. Each source has a module; read `no_regnskap`
first, which is short. `be_nbb`, `dk_comptes` and `fi_comptes` read XBRL through `xbrl_instance`; `se_comptes` and
`uk_accounts` read iXBRL through `filing`; `lu_comptes` reads XML; `fr_comptes` and `sk_ruz` read JSON. Accounts that
are tables are declared in TOML files (`registers/toml/`).
"""
