"""Every known way to guard stock, one file each, flaws included. The shop sells through `ledger` alone.

`strategy` is the interface, `all` the list. The lab (bench/lab) runs them side by side and judges.
"""
