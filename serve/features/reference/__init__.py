"""Reference lists: countries, sectors, sub-sectors, and the sources of the data.

For programs that offer choices, and for whoever must credit a register. `operations` declares the routes and answers
them; `pages` has /sources. `answers` has the objects of the API, `tools` shortens them for assistants.
"""
