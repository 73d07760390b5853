"""The data of the server: the served generation, and values computed from it.

Start at `open_generation`, which has everything that changes with a generation. Then `current_generation`, which
follows DATA/CURRENT, remembers damaged files, and has the status for /readyz and /metrics. `country_sources` has the
sources of the companies; `company_ids` looks up the companies that a search names.
"""
