"""Annual accounts that are published as documents: XBRL, XML, JSON; one module per source.

Read `filed_account` (what a reader gives), `documents` (files out of their packing), `account_import` (the same for
all: the chart, the last filed line, the account of every filing) and one source: `no_regnskap` is short, `be_nbb` and
`fi_comptes` read instances through `xbrl_instance`.

A source is a function from a document to the accounts in it, and its rows in `seeds/elements.csv`. `sums` adds up lines
of which a form has only the parts. The other sources: `dk_comptes`, `fr_comptes`, `lu_comptes`, `se_comptes`, `sk_ruz`,
`uk_accounts`.
"""
