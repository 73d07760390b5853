"""Routes that match lists with companies: `rapprochement`, and the service that OpenRefine speaks.

`rapprochement` answers the lines of a list (X5). `reconciliation` is the Reconciliation Service API 0.2 over the same
matcher; serve/request/reconciliation_query.py reads its queries.
"""
