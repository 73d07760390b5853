"""Access: the identity, the rights, the limits and the price of a call.

Read `admission` first: it runs the checks of every call in the order of contract D5, and answers 503 where counters are
lost (G9). Then `call` (the request, the values that it passes through, entity tags, and what caches may keep: G8),
`rights` (the caller, what a plan shows, the plan that is proposed, the remedy of a limit: C1, F10, and who may make
analyses: X11), `burst_gate` (burst limits), `billing` (which alone counts calls, credits and exports, and refuses what
is used up: 402, 403, 429). `counter_headers` writes a counter as headers and as the `quota` of a 429 (D3, D4, A10),
`company_path` the company that a path names; `own_matches` has the companies that an account matched (X19).
`store_holder` opens the counters; `context` holds what they all need. `loop_guard` keeps clients from holding the event
loop.
"""
