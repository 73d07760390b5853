"""Record: one company with its statements, its group, and the companies that have a number.

For whoever knows the company. `societe` and `groupe` answer their routes, `operations` the look-up of a number; `pages`
has the page of a company, `key_figures` the figures above its statements, `tools` the tools of assistants. A field of
the record is a row of `serve/contract/tables/fields.csv`, since searches, exports and lists have it too; `answers` has
the objects of the group alone.
"""
