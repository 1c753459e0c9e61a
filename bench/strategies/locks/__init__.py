"""Locks around checking and changing the stock."""
