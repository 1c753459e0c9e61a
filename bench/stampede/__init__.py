"""The load test behind `manage.py stampede`: many buyers over HTTP, and a verdict on what the shop told them.

In the order in which they are used: `setup` (the items and the shop), `plan` (who asks for what), `rush`, `client`
(the processes that send the calls), `arrivals` (when each order was seen in PostgreSQL), `buyer_answers` (what buyers
were told), `cross_check` (what both stores say), `item_verdict` and `verdict` (whether every promise was kept),
`report`.
"""
