"""The pages of an account: the account itself, log-in, members, links of mails, prices and payments.

They use the services that `operations` opens."""
