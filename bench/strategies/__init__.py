"""Known ways to guard stock, one file each, flaws included. The shop sells through `atomic.ledger` alone.

`base.strategy` is the interface, `all_strategies` the list. The lab (bench/lab) runs them side by side.
"""
