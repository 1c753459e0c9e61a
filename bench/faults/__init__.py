"""The fault harness behind `make faults`: does the shop keep its promises while servers, networks and processes fail?

The idea is Jepsen's: clients write down every request and every answer (`history`), faults are injected at random
moments that a seed determines (`trial`, `kinds`), and when nothing is pending any more a checker (`checker`) compares
the history with both stores (`store_snapshot`). The processes are real (`shop_under_test`), and so are the servers; a
small TCP proxy between them (`proxy`) can stall, cut and refuse connections and drop messages. Named failpoints
(`shop/failpoints.py`) kill a process from inside, at a given step.

Read it in the order in which it happens: `__main__` (its own servers), `shop_under_test`, `trial_sale`,
`buyer_journey`, `trial`, `store_snapshot`, `checker`, `fault_table`.
What is about the ordinary shop is in `shopping/` and `kinds/ordinary/`.
"""
