"""Payments by the service of others: orders, invoices and signed events (`stripe_account`)."""
