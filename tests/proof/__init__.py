"""Proofs of crash safety: power cuts, kills, full disks, bad networks, restarts under load.

The proofs take minutes; `pytest -m slow` and CI run them. `PROOF_ROUNDS` and the other variables at the top of a module
make a proof longer.
"""
