"""Record: all that is known of one company, its group, and the company that a number names.

For a credit analyst who opens a company. A field of the record is declared in `serve/contract/company_fields.py`,
since searches, exports and matched lists show it too.
"""
