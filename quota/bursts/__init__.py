"""Burst limits (contract D7): calls per minute, and per day for visitors. Never for billing.

Read `gcra.py` (the arithmetic of one caller's limit), `limiter.py` (the limits of all callers, shared by the processes
of a host), `memory_folder.py` (where their file is). The figures are in `serve/config.py` (`BurstLimits`);
`serve/access/burst_gate.py` says whose calls count together.
"""
