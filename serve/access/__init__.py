"""Access: who may do what, and what it costs.

Read `admission` first: it runs the checks of every call in the order of contract D5. Then `result` (the values a
call passes through), `caller` and `burst_gate` (who calls, and whether now), `rights` (what a plan may see), `billing`
(the only place that moves counters), `envelope` (the JSON of the results). `context` holds what they all need.
"""
