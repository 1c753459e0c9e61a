"""A web process dies in a checkout of the ordinary shop. Its buyer repeats the call with the same key and body."""

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Part
from bench.faults.kinds.processes import DiesAtFailpoint
from bench.faults.shopping.goods import Shelf


class DiesInCheckout(DiesAtFailpoint):
    """More units are wanted than there are: of a product each, and of two products in any order."""

    visits_max = 6
    demand = Demand(buyers=20, shoppers=60, retry_seconds_max=10.0)
    shelf = Shelf(products=4, units=25)
    disturbs = frozenset({Part.WEB})
    needs = frozenset({Part.POSTGRES})


class CheckoutKilledBeforeCommit(DiesInCheckout):
    name = "checkout-killed-before-commit"
    description = "a web process dies when an ordinary order is written and not committed"
    failpoint = "checkout.before_commit"


class CheckoutKilledAfterCommit(DiesInCheckout):
    name = "checkout-killed-after-commit"
    description = "a web process dies after the commit of an ordinary order, before it answers the buyer"
    failpoint = "checkout.after_commit"
