"""Errors of pages.

`page_errors` are those that only the website has; `linked_text` turns what a message says to programs into links,
dates and names.
"""
