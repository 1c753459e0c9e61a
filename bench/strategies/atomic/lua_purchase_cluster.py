"""`lua_purchase` on a cluster of three primaries, with all its keys in one slot by a hash tag.

People write it because "it must scale", and it is as correct as on one server. But a script runs where its keys are,
and the keys of one item must be in one slot. So one sale uses one primary, the other two are idle, and the client has
more work to find the right node. A cluster helps a shop with many sales, not one sale with many buyers.
"""

from bench.strategies.atomic.lua_purchase import LuaPurchase
from bench.strategies.base.strategy import Backend


class LuaPurchaseCluster(LuaPurchase):
    id = "lua_purchase_cluster"
    expected = "correct; not faster than one server, since one item uses one slot"
    backend = Backend.CLUSTER
