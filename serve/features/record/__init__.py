"""Record: one company with its statements, its group, and the companies that have a number.

For whoever knows the company. `operations` answers a record and the look-up of a number, `groupe` its own route;
`pages` has the page of a company with its key figures, `tools` the tools of assistants. A field of the record is a row
of `serve/contract/tables/fields.csv`, since searches, exports and lists have it too; `answers` has the objects of the
group alone.
"""
