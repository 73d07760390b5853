"""Account: the rights and the usage of a key, and the pages of people who log in.

For the people who pay: plans, keys, members, invoices. `operations` answers a key. `pages` lists the pages:
`log_in_page` (sign-up, log-in, mailed links), `account_page`, `members_page`, and `payment_page` (prices, purchases,
invoices). `login_throttle` limits log-ins, sign-ups and hashes of passwords. `outbox` sends mail and `stripe_account`
takes payments, on servers with these settings; `operations` opens all three. `answers` has the objects of the API,
`tools` the tool for assistants.
"""
