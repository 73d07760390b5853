"""Proofs of crash safety: power cuts, kills, full disks, bad networks, restarts under load.

They take minutes and run with `pytest -m slow` and in CI. `PROOF_ROUNDS` and the other variables
at the top of a module make a proof longer.
"""
