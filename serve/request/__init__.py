"""Requests of clients, read strictly: parameters, bodies, addresses.

Start at `params`, which turns a query string into a Query. `scalars` reads single values,
`place_names` countries and sectors. `json_body` turns a JSON body into the same pairs of names and
values. `client_address` finds the caller behind proxies; `memo` bounds what is remembered of texts.
"""
