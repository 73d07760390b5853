"""Tests of an account."""
