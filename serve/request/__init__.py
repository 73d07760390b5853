"""Strict parsers of requests: parameters, bodies, headers and addresses.

Start at `reader`, which splits a query string and turns the parameters of a call into a Query. `values` reads each
value by its kind (B1, B5, B17, B18, X7), with `scalars` for numbers (B21, B22) and dates (X2, X19). `place_names` has
the words for countries, sectors, sub-sectors and legal forms, and the errors for unknown words (B3, B4, B7 to B11).
`json_body` turns a JSON body into the same pairs of names and values. `accept` reads Accept headers (languages,
formats); `client_address` finds the address of a caller behind proxies (D7).
"""
