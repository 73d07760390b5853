"""The pages of lists: a list comes in and is matched, then it has an address where it is reviewed, changed and saved.

Read `matching` first: the form. `csv_files` makes lines of the bytes that come in, `columns` has the choice above each
column. `stored_lists` writes what is kept of a list and reads it; `list_page` shows it, `list_files` makes files of it.
"""
