"""Proofs of what a crash cannot do. They take a minute or two: `make proof`, and CI."""
