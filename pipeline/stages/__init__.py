"""The rules of a build by subject: functions from frames to frames; `publishing/country.py` calls them in order.

`input_files` reads the rows; `text_cleaning` and `rejections` clean and check them. Two modules leave out data of
persons: `personal_data` cuts owners out of names and `c/o` out of addresses, and recognises birth dates, officers and
personal mailboxes; `objections` applies the requests of persons. `implausible_values` leaves out impossible values;
`complements` fills the empty fields of a register.

`statement_lines` keeps the lines of the last five years, without copies. `doubtful_accounts` withholds accounts that
contradict themselves, such as balance sheets whose sides differ. `money`, `sectors`, `statuses`,
`identifiers` and `derived_fields` add columns. `quality_report` counts the results, and closes the gates of
unmapped statuses (X1) and of personal data.
"""
