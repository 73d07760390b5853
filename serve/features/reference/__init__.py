"""Reference lists: countries, sectors, sub-sectors, and the sources of the data.

For programs that offer choices, and for whoever must credit a register. `operations` declares the routes.
"""
