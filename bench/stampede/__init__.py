"""The load test behind `manage.py stampede`: a herd of buyers over HTTP, and a verdict on what the shop told them.

Read it in the order in which it happens: `scene` (the item and the shop), `calls` (who will ask what), `rush` and
`caller` (the processes that ask), `witness` (when the orders stood in PostgreSQL), `verdict` (was every promise kept,
by the `books` of both stores), `report`.
"""
