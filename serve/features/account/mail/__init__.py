"""Mail to members of organisations.

`outbox` has the mails that are still to be sent, and sends them by `smtp`; `messages` has their texts.
"""
