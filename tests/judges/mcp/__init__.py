"""Judges of the tools and the texts for language models."""
