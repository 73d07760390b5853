"""Pages to read, on which no company and no account stands: documentation, legal notice, sources, status.

`manual` shows what `serve/guests/docs/manual` makes of the description of the API; `legal` shows the settings of the
operator. `sources` has the registers with their dates and licences, `status` what is served and how well it is filled.
"""
