"""Synthetic companies: deterministic canonical input at any scale, shaped like real registers.

What is drawn comes from tables in `seeds/` (words, forms, towns, shares); how it is drawn is here,
a file a subject. Every chunk of every country draws from generators of its own, seeded by (seed,
country, chunk, subject), so that neither the order of the work nor the number of processes is in
the bytes.
"""
