"""Data of persons, which a build leaves out.

`clauses` cuts the owner out of a name and `c/o` out of an address; `personal_data` finds birth dates, officers and
personal mailboxes in what registers publish; `objections` is what persons have asked for, which `hidden_fields` carries
out.
"""
