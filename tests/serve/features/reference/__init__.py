"""Tests of the reference lists."""
