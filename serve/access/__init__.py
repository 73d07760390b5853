"""Access: the identity, the rights, the limits and the price of a call.

Read `admission` first: it runs the checks of every call in the order of contract D5. Then `call` (the values a
call passes through), `caller` and `burst_gate` (identity and burst limits), `rights` (what a plan shows), `billing`
(which alone counts calls, credits and exports), `own_matches` (what an account sees beyond its plan), `envelope` (the
JSON of the results). `context` holds what they all need.
"""
