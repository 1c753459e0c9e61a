"""Everything that proves the shop and is no part of it; installed only where LOAD_TESTS=1.

`strategies` are the known ways to guard stock, and `lab` runs them side by side. `stampede` sends many buyers to a
running shop at the same time, `faults` breaks a shop of its own while buyers buy, and `durability` measures what
writing to disk costs.
"""
