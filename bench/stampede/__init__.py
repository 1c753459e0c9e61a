"""The load test behind `manage.py stampede`: many buyers over HTTP, and a verdict on what the shop told them.

In the order in which they are used: `setup` (the item and the shop), `plan` (who asks for what), `rush` and `client`
(the processes that send the calls), `arrivals` (when each order was seen in PostgreSQL), `cross_check` (what both
stores say), `verdict` (whether every promise was kept), `report`.
"""
