"""Access: the identity, the rights, the limits and the price of a call.

Read `admission` first: it runs the checks of every call in the order of contract D5, and answers 503 if the store of
counters fails (G9). Then read:

- `call`: the request, its intermediate values, entity tags and cache headers (G8)
- `rights`: the caller, the limits of a plan, the plan to propose, remedies (C1, F10), the right to analyses (X11)
- `burst_gate`: burst limits
- `billing`: the only module that counts calls, credits and exports, and refuses when they are used up (402, 403, 429)
- `counter_headers`: a counter as headers, and as the `quota` of a 429 (D3, D4, A10)
- `company_path`: the company of a path; `own_matches`: the companies that an account has matched (X19)
- `store_holder` opens the store of counters; `context` has the shared values
- `loop_guard` keeps a client from blocking the event loop
"""
