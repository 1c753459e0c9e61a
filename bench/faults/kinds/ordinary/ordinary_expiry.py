"""Buyers pay ordinary orders just when the deadline passes: each has the units or the money back, never both."""

import threading
import time
from collections.abc import Sequence

from django.db.models import QuerySet

from bench.faults.kinds.payment_races import PaymentAtDeadline, Race
from bench.faults.shop_under_test import CHECKOUT_HOLD_SECONDS
from bench.faults.shopping.goods import Shelf
from bench.faults.shopping.shopper_client import ShopperClient
from bench.faults.shopping.shopping_trip import order_until_known
from bench.faults.wire.http_client import BuyerClient
from orders.models import Attention, Order

# The last must be ordered before the first deadline, on a busy machine too.
RACES = 200
# Others who want the units that come back, so that a late payment may find none left.
RIVALS = 3
PURCHASES_MAX = 25
PAUSE_SECONDS = 0.2
RETRY_SECONDS_MAX = 5.0


class OrdinaryPaymentAtExpiry(PaymentAtDeadline):
    """All units are in the orders that race. Units that expire are at once for sale again, and rivals buy some."""

    name = "ordinary-payment-at-expiry"
    description = f"{RACES} buyers pay an ordinary order just when its deadline passes, and others want the units"
    shelf = Shelf(products=1, units=RACES)
    races_wanted = RACES
    hold_seconds = CHECKOUT_HOLD_SECONDS

    def inject(self) -> None:
        self._stop = threading.Event()
        self._rivals: list[threading.Thread] = []
        try:
            super().inject()
        finally:
            self._stop.set()
            for rival in self._rivals:
                rival.join()
        kept, back = (
            self.orders().filter(attention=attention).count()
            for attention in (Attention.LATE_PAYMENT_KEPT, Attention.LATE_PAYMENT_REFUNDED)
        )
        self.variant += f", {kept} paid late with units left, {back} paid late and refunded"
        self.happened &= kept + back > 0

    def open_races(self) -> list[Race | None]:
        return self.each(self._order, self.paced(self.context.shoppers(count=RACES)))

    def _order(self, client: ShopperClient) -> Race | None:
        """Order one unit over HTTP and open the page at once: the order is held for a minute only."""
        client.fill_cart(units_of=self._one_unit)
        client.check_out(units=1)
        return self.open_page(client)

    def orders(self) -> QuerySet[Order]:
        return Order.objects.filter(lines__variant__in=self.context.goods.variant_ids.values())

    def order_of(self, client: BuyerClient) -> Order | None:
        return Order.objects.filter(buyer_note=client.credentials.reservation_id).first()

    def before_deadlines(self, races: Sequence[Race]) -> None:
        first_wall_s = races[0].pay_wall_s if races else time.time()
        self._rivals = [
            threading.Thread(target=self._buy_what_comes_back, args=(client, first_wall_s), daemon=True)
            for client in self.context.shoppers(count=RIVALS, first=RACES)
        ]
        for rival in self._rivals:
            rival.start()

    def _buy_what_comes_back(self, client: ShopperClient, first_wall_s: float) -> None:
        if self._stop.wait(max(0.0, first_wall_s - time.time())):
            return
        bought = 0
        while bought < PURCHASES_MAX and not self._stop.wait(PAUSE_SECONDS):
            answer = order_until_known(
                client.with_new_key(), units_of=self._one_unit, retry_seconds_max=RETRY_SECONDS_MAX, stop=self._stop
            )
            bought += answer is not None and answer.status == 201

    @property
    def _one_unit(self) -> dict[str, int]:
        return dict.fromkeys(self.context.goods.skus, 1)
