"""The data of the server: the generation that is being served, and values made from it.

Start at `open_generation`, which holds everything that changes with a generation; then `current_generation`, which
follows DATA/CURRENT. `generation_status` is what /readyz and /metrics report; `country_sources` says where the
companies come from, `legal_forms` which forms they have; `company_ids` looks up the companies that a search names,
`deletions` those that were deleted. `ratio_peers` has the companies of a sector that one is compared with (X11);
`damage_list` remembers damaged files.
"""
