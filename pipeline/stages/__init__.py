"""The rules of a build by subject: functions of frames; `publishing/country.py` has their order.

`input_files` reads the rows; `text_cleaning` and `rejections` clean and check them. Data of persons is left out:
`personal_data` cuts the owner out of a name and `c/o` out of an address, and finds birth dates, officers and personal
mailboxes; `objections` has the requests of persons. `implausible_values` leaves out the values that cannot be;
`complements` fills the empty fields of a register.

`statement_lines` keeps the lines of the last five years, each once; `doubtful_accounts` withholds balance sheets that
do not close and turnovers of another scale than their neighbours'. `money`, `sectors`, `statuses`, `identifiers` and
`derived_fields` add columns. `quality_report` accounts for the result, and closes the gate of statuses that nothing
maps (X1).
"""
