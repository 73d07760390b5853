"""The data of the server: the generation that is being served, and values made from it.

Start at `open_generation`, which holds everything that changes with a generation; then `current_generation`, which
follows DATA/CURRENT, remembers damaged files, and has the status that /readyz and /metrics report. `country_sources`
says where the companies come from; `company_ids` looks up the companies that a search names.
"""
