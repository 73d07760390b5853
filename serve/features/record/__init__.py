"""Record: one company with its statements, its group, and the companies that have a number.

`operations` answers a record and the look-up of a number, `groupe` the route of the group; `pages` has the page of a
company with its key figures, `tools` the tools of assistants. A field of the record is a row of
`serve/contract/tables/fields.csv`, since searches, exports and lists have it too; `answers` has the objects of a
look-up and of the group.
"""
