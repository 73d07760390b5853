"""Services of others that accounts use: a mail server, and Stripe. Neither is needed to serve.

Read `settings.py` (the sections `[courriel]` and `[paiement]`), then `outbox.py`, which delivers the
mails that the store keeps (quota/ledger/tickets.py), with `messages.py` (their text) and `smtp.py`.
"""
