"""Tests of the features, a folder each.

Each is asked over HTTP."""
