"""Reference lists: countries, sectors, sub-sectors, and the sources of the data.

For programs that offer choices, and for people who must credit a register. `operations` declares and answers the
routes; `pages` has /sources. `answers` has the objects of the API; `tools` shortens them for assistants.
"""
