"""Judges of the tools for language models and of the texts for them."""
