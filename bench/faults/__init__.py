"""The fault harness behind `make faults`: does the shop keep its word while the world goes wrong?

The idea is Jepsen's: clients write down every intent and every answer (`history`), a nemesis draws faults from a seed
(`nemesis`, `kinds`), and when everything is at rest again a checker (`checker`) holds the history against the
books of both stores. The processes are real (`site`), and so are the servers; between them stands a small proxy of ours
(`proxy`) that can stall, cut, refuse, and lose answers. Named failpoints (`shop/failpoints.py`) kill a process from
inside, at a step.

Read it in the order in which it happens: `__main__` (servers of its own), `shop_under_test`, `trial_sale`,
`buyer_threads` and `buyer_journey`, `trial`, `store_snapshot`, `checker`, `fault_table`.
"""
