"""Tests of the features, a folder each.

The tests send HTTP requests to a running server."""
