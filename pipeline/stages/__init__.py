"""The stages of a build: functions from LazyFrame to LazyFrame, in the order of publishing/stages.py.

`input_files` finds the rows; `text_cleaning` and `rejections` clean and check them, `persons` leaves out what is
personal, `implausible_values` the values that cannot be; `complements` fills what a register leaves empty; `accounts`,
`money`, `codes`, `identifiers` and `derived_fields` add columns; `layout_order` and `duplicates` see all rows of a
country at once. `checks` guards the columns between two stages; `quality_report` accounts for the result, and closes
the gate of statuses that nothing maps (X1).
"""
