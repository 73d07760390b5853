"""Synthetic companies: deterministic canonical input at any scale, shaped like real registers.

`python -m tests.bench.synth` is the entry, `writer` shares the companies out to chunks and writes them, `lexicon` reads
the words, forms, towns and shares (README.md has their tables). A module per subject draws from them: `names`,
`identifiers` with `check_digits`, `activities`, `contacts`, `amounts`, `statements`.

Every chunk of every country has its own generators (`random_draws`), seeded by (seed, country, chunk, subject), so that
neither the order of the work nor the number of processes changes a byte.
"""
