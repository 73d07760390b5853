"""Pages to read, on which no company and no account stands: the documentation and the legal notice.

`manual` shows what `serve/docs/manual` makes of the description of the API; `legal` shows the settings of the operator.
"""
