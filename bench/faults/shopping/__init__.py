"""Buyers of the ordinary shop: their goods, their calls, their journeys, and what must be true of their orders.

An intended purchase is known by the Idempotency-Key of its checkout. The order has it too, as the buyer's note, so that
the harness finds an order without asking the shop's own record of the call.
"""
