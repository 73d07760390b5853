"""Translation of what registers publish.

`sectors` finds the sector of an activity code, `statuses` the state of a company and its words in French.
"""
