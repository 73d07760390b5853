"""Routes of changes between generations: of everything, or of what a caller watches.

`modifications` is GET /modifications, all changes in pages. `watch` is the POST: what happened to
given companies, or to what a search finds (X8). `envelope` is common to both.
"""
