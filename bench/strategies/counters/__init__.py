"""Counters that are checked and changed in separate commands, without a guard."""
