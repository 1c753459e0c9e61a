"""Notes when each order of the items was first seen in PostgreSQL."""

import time
from collections.abc import Callable, Iterable, Sequence

from django.db.models import Max

from orders.models import OrderLine

# Two batches of intake may commit in another order than that of their ids, so each poll reads some ids again.
REREAD_IDS = 1_000
# Ids in one query.
CHUNK = 5_000
POLL_SECONDS = 0.1


class Arrivals:
    """Polls the order lines of the items. Each is read about once, so frequent polls cost the shop little."""

    def __init__(self, item_ids: Sequence[int]) -> None:
        self._lines = OrderLine.objects.filter(sale_item_id__in=item_ids)
        self._highest = self._lines.aggregate(highest=Max("pk"))["highest"] or 0
        self.seen_s: dict[str, float] = {}

    def poll(self) -> None:
        """Note the new orders. `seen_s` is reservation id → seconds of the monotonic clock."""
        new = self._lines.filter(pk__gt=self._highest - REREAD_IDS).values_list("pk", "order__reservation_id")
        rows = list(new)
        self._note(str(reservation_id) for _pk, reservation_id in rows)
        self._highest = max([self._highest, *(pk for pk, _reservation_id in rows)])

    def wait_for(self, reservation_ids: Sequence[str], *, seconds_max: float, tick: Callable[[int], object]) -> None:
        """Poll until each of the reservations has an order, or time is up. `tick` is called with how many have one."""
        give_up_s = time.monotonic() + seconds_max
        while True:
            missing = [reservation_id for reservation_id in reservation_ids if reservation_id not in self.seen_s]
            for start in range(0, len(missing), CHUNK):
                found = self._lines.filter(order__reservation_id__in=missing[start : start + CHUNK])
                self._note(str(found_id) for found_id in found.values_list("order__reservation_id", flat=True))
            done = sum(reservation_id in self.seen_s for reservation_id in reservation_ids)
            tick(done)
            if done == len(reservation_ids) or time.monotonic() > give_up_s:
                return
            time.sleep(POLL_SECONDS)

    def _note(self, reservation_ids: Iterable[str]) -> None:
        now_s = time.monotonic()
        for reservation_id in reservation_ids:
            self.seen_s.setdefault(reservation_id, now_s)
