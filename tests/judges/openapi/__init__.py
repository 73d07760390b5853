"""Judges of openapi.json, of the clients that are generated from it, and of /docs."""
