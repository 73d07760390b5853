"""Filed accounts: the one chart of codes that they are brought to, and readers of those that are documents.

Read `chart` (the lines of all countries, and the elements of each source on them), `filing` (the facts of one filing)
and `statement` (chooses among the facts; amounts become canonical rows).

Accounts that are documents, XBRL, XML or JSON: `account_import`, the same for all (documents out of their packing, the
result of a reader, the last filed line, the account of every filing). A source is a function from a
document to the accounts in it, and its rows in `seeds/elements.csv`; one module per source: `no_regnskap` is short,
`be_nbb` and `fi_comptes` read instances through `xbrl_instance`; `dk_comptes`, `fr_comptes`, `lu_comptes`,
`se_comptes`, `sk_ruz`, `uk_accounts`. Accounts that are tables are declared: `registers/toml/`.
"""
