"""Burst limits (contract D7): calls per minute, and per day for visitors. Never for billing.

Read `gcra.py` (the arithmetic of one caller's limit), then `limiter.py` (the limits of all callers, shared by the
processes of a host, and the folder of their file). The figures are in `serve/config.py` (`BurstLimits`);
`serve/access/burst_gate.py` says whose calls count together.
"""
