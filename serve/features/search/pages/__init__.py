"""The pages of a search: the explorer, which is the home page where nothing is searched, and what completes a text.

Start at `explorer`."""
