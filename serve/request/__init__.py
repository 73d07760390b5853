"""Requests of clients, read strictly: parameters, bodies, addresses.

Start at `params`, which turns a query string into a Query; `filters` reads those of extensions X2.
`scalars` reads single values, `value_lists` lists, `place_names` has the words for countries, sectors
and legal forms. `json_body` turns a JSON body into the same pairs of names and values, `line_list` into
lines to match, which `lists` reads from CSV files, too. `client_address` finds the caller behind proxies;
`memo` bounds what is remembered of texts.
"""
