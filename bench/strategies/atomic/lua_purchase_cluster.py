"""`lua_purchase` on a cluster of three primaries, its keys hash-tagged into one slot.

People write it because "it must scale", and it is as correct as on one server. But a script runs where its keys are,
and the keys of one item must share a slot, so one sale uses one primary: the other two look on, and the client pays
for finding the way. A cluster helps a shop with many sales, not one sale with many buyers.
"""

from bench.strategies.atomic.lua_purchase import LuaPurchase
from bench.strategies.base.strategy import Home


class LuaPurchaseCluster(LuaPurchase):
    id = "lua_purchase_cluster"
    expected = "correct; not faster than one server, since one item uses one slot"
    home = Home.CLUSTER
