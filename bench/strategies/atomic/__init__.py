"""Checking and changing the stock in one atomic step of the store."""
