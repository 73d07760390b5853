"""Other engines, filled with the companies of a generation and asked the same questions."""
