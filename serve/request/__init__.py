"""Requests of clients, read strictly: parameters, bodies, addresses.

Start at `reader`, which turns the parameters of a call into a Query: `query_string` splits them, `values` reads each
by its kind, `place_names` has the words for countries, sectors and legal forms. `json_body` turns a JSON body into
the same pairs of names and values, `line_list` into lines to match, which `lists` reads from CSV files, too.
`client_address` finds the caller behind proxies; `memo` bounds what is remembered of texts.
"""
