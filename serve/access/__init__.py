"""Access: the identity, the rights, the limits and the price of a call.

Read `admission` first: it runs the checks of every call in the order of contract D5, and answers 503 where counters are
lost (G9). Then `call` (the values a call passes through, and what caches may keep: G8), `caller` and `burst_gate`
(identity and burst limits), `rights` (what a plan shows), `billing` (which alone counts calls, credits and exports, and
refuses what is used up: 402, 403, 429), `own_matches` (what an account sees beyond its plan), `envelope` (the JSON of
search and record: `comptes_message` A6, `droits` D12, an error beside a preview A1, D10). `counter_headers` writes a
counter as headers and as the `quota` of a 429 (D3, D4, A10), `next_plan` the plan that is proposed and the remedy of a
limit (C1, F10), `modules` who may make analyses (X11), `etag` entity tags (G8). `store_holder` opens the counters;
`context` holds what they all need. `visitor_lanes` lets requests of one network wait for one another, `body_thread`
parses bodies.
"""
