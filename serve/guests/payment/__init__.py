"""Payment by a service of others.

`stripe_account` makes orders and links to invoices, and checks the signatures of events.
"""
