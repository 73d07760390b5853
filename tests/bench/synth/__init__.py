"""Synthetic companies: deterministic canonical input at any scale, shaped like real registers.

The tables of `seeds/` hold the words, forms, towns and shares; this package draws from them, one module per subject.
Read `random_draws` and `lexicon` first, then `chunk` and `writer`. Every chunk of every country has its own generators,
seeded by (seed, country, chunk, subject), so that neither the order of the work nor the number of processes changes a
byte. The subjects: `names`, `identifiers` with `check_digits`, `activities`, `places`, `contacts`, `amounts`,
`statements`.
"""
