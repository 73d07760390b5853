"""Publication: a new generation passes the gates and becomes the published one, or nothing changes.

`publication` is the procedure, rollback included. `smoke_test` is its last gate: a sample of searches, compared with
the answers of a search without indexes. The caller passes the functions that compare generations and that derive
further files, since these are capabilities.
"""
