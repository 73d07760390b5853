"""The features of the service, a folder each: this list is the table of contents of the product.

A feature declares its routes in `operations.py`, with their parameters, answers, costs and tools; its handlers, pages
and texts stand beside it. `serve/app.py` lists the features that are served. No feature imports another.
"""
