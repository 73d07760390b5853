"""Account: what a key may do and has done, and the area of the people who log in.

For whoever pays: plans, keys, members, invoices. Mail and payments are optional services of a server.
"""
