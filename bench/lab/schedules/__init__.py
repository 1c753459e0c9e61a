"""Strategies run one command at a time, in an order that shows a flaw every time."""
