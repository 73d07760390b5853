"""The pages of a list: the form that takes it, and the list that is kept.

Start at `matching`."""
