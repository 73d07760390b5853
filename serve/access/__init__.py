"""TODO folder."""
