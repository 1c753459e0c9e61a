"""How the pages that wait for an opening spread their calls, so that they come as fast as they can be answered.

If all pages called in one millisecond, the calls would queue in the web server, in a random order; the last would be
answered after `pages / calls per second`. If each page picks a random moment within that time instead, the last answer
comes no later, and the server can answer other calls meanwhile. So the spread follows from the number of pages: where
few pages wait, it is 0. Pages that waited take its first half and presses in this time its second: nobody is overtaken
for having waited (`turnMs` in seckill/static/seckill/item.js).
"""

import time
from dataclasses import dataclass

from django.conf import settings

# No page waits longer, however many there are: beyond it, calls queue as they would without a spread.
SPREAD_MS_MAX = 3_000
# Below it, a spread is of no use.
SPREAD_MS_MIN = 50
# Sales of which calls are counted.
SALES_MAX = 1_000


@dataclass(slots=True)
class Second:
    """The calls for one sale in a second, and in the one before."""

    number: int
    calls: int = 0
    before: int = 0


class WaitingPages:
    """Counts the calls for `live` of each sale in this process. Before an opening a page asks about once a second.

    Other processes have pages of their own and the same capacity, so each can say the spread for its pages alone. Exact
    figures do not matter: a call that two threads count at once may be counted once.
    """

    def __init__(self) -> None:
        self._seconds: dict[int, Second] = {}

    def count(self, sale_id: int, *, calls: int = 1) -> None:
        self._second(sale_id).calls += calls

    def opening_spread_ms(self, sale_id: int) -> int:
        """Over how many milliseconds the pages of this process should spread their calls."""
        second = self._second(sale_id)
        pages = max(second.calls, second.before)
        spread_ms = 1000 * pages // settings.SECKILL_CALLS_PER_SECOND
        return 0 if spread_ms < SPREAD_MS_MIN else min(spread_ms, SPREAD_MS_MAX)

    def _second(self, sale_id: int) -> Second:
        number = int(time.monotonic())
        second = self._seconds.get(sale_id)
        if second is None:
            if len(self._seconds) >= SALES_MAX:
                self._seconds.clear()
            second = self._seconds[sale_id] = Second(number)
        elif second.number != number:
            before = second.calls if number == second.number + 1 else 0
            second = self._seconds[sale_id] = Second(number, before=before)
        return second


waiting_pages = WaitingPages()
