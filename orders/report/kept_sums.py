"""The sums of a sale that the shop forgets, and the row that keeps them.

Answers are in the cache server, for 60 days, those by minute for 14, and no longer than that server has its data.
Country and language go with an account that is deleted. A day after the last hold of a sale has ended a sweep writes
what is known then to `KeptReport`, once.
"""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from orders.models import KeptReport
from orders.report.order_figures import buyers_by_country, buyers_by_language, buyers_of
from orders.report.winners import units_by_arrival, units_by_network
from seckill.live import answer_counts
from seckill.models import LAST_HOLD_ENDS_AT, Sale
from seckill.waiting_room.room_ledger import read_room
from shop.background.outages import AWAY, go_on, wait

# Since the last hold has ended: all buyers have paid by then, or their units went back.
KEEP_AFTER = timedelta(days=1)
# Early buyers ask before the opening, late ones after the end.
AROUND = timedelta(minutes=15)
# So many points of time are kept. The sums of a sale that lasts for longer than as many minutes are coarser.
POINTS_MAX = 1500
MINUTES_OF_STEPS = (1, 5, 15, 60, 24 * 60)


KEPT_NAMES = ("step_minutes", "buyers", "countries", "languages", "arrivals", "networks")


@dataclass(frozen=True, slots=True)
class Sums:
    """`answers` by item and word; `minutes` by the first minute of a step (since 1970) and word, of all items.

    `answers` have the refusals by rules too; None means that the cache server does not answer. `arrivals` are units by
    when their buyers had joined the waiting room; `networks` are those of `units_by_network`. `kept_at` None means that
    the sums were asked for just now.
    """

    answers: Mapping[int, Mapping[str, int]] | None = None
    step_minutes: int = 1
    minutes: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    buyers: int = 0
    countries: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    arrivals: Mapping[str, int] = field(default_factory=dict)
    networks: Mapping[str, int] = field(default_factory=dict)
    kept_at: datetime | None = None

    @property
    def words(self) -> Counter[str]:
        """Of all items."""
        found: Counter[str] = Counter()
        for counts in (self.answers or {}).values():
            found.update(counts)
        return found


def sums_of(sale: Sale) -> Sums:
    """As they were kept; what is known now, if the end of the sale is to come or was moved since."""
    kept = KeptReport.objects.filter(sale=sale).first()
    if kept and kept.closes_at == sale.closes_at:
        return read(kept)
    try:
        sums = sums_now(sale)
    except AWAY as error:
        wait("report_answers", error)
        return Sums(**sums_of_buyers(sale))
    go_on("report_answers")
    return sums


def keep_due(*, seconds_max: float) -> int:
    """Keep the sums of the sales that are due, for at most about `seconds_max`. Returns of how many.

    Raises errors of the cache server and of the reservation store, and keeps nothing then: the next call does.
    """
    ends_s, count = time.monotonic() + seconds_max, 0
    for sale in due_sales(now=timezone.now()).order_by("closes_at").iterator():
        count += keep(sale)
        if time.monotonic() >= ends_s:
            break
    return count


def due_sales(*, now: datetime) -> QuerySet[Sale]:
    published = Sale.objects.filter(published_at__isnull=False).alias(held_until=LAST_HOLD_ENDS_AT)
    ended = published.filter(held_until__lte=now - KEEP_AFTER)
    return ended.filter(Q(kept_report=None) | ~Q(kept_report__closes_at=F("closes_at")))


def keep(sale: Sale) -> bool:
    """Of two processes, and of a repeated call, one writes. Sums from before the sale was opened again are replaced."""
    if sale.has_room:
        # Raises StoreUnreachable: the sums of a page are without the arrivals then, and these are kept for good.
        read_room(sale_id=sale.pk)
    sums, row = sums_now(sale), {"closes_at": sale.closes_at, "made_at": timezone.now()}
    earlier = KeptReport.objects.filter(sale=sale).first()
    if earlier is None:
        made = KeptReport(sale=sale, sums=written(sums), **row)
        KeptReport.objects.bulk_create([made], ignore_conflicts=True)
        return True
    # The cache server may have been emptied since.
    whole = with_earlier(sums, read(earlier))
    unchanged = KeptReport.objects.filter(sale=sale, closes_at=earlier.closes_at).exclude(closes_at=sale.closes_at)
    return unchanged.update(sums=written(whole), **row) == 1


def sums_now(sale: Sale) -> Sums:
    """Raises errors of the cache server."""
    item_ids = list(sale.items.values_list("pk", flat=True))
    until = min(sale.closes_at + AROUND, timezone.now())
    first, last = (int(at.timestamp()) // 60 for at in (sale.opens_at - AROUND, until))
    minutes = answer_counts.of_minutes(item_ids, first=first, last=last)
    step_minutes = next((it for it in MINUTES_OF_STEPS if len(minutes) / it <= POINTS_MAX), MINUTES_OF_STEPS[-1])
    steps: dict[int, Counter[str]] = {}
    for minute, counts in sorted(minutes.items()):
        steps.setdefault(minute // step_minutes * step_minutes, Counter()).update(counts)
    return Sums(
        answers=answer_counts.of_items(item_ids),
        step_minutes=step_minutes,
        minutes=steps,
        networks=units_by_network(sale),
        **sums_of_buyers(sale),
    )


def sums_of_buyers(sale: Sale) -> dict[str, Any]:
    return {
        "buyers": buyers_of(sale),
        "countries": buyers_by_country(sale),
        "languages": buyers_by_language(sale),
        "arrivals": units_by_arrival(sale),
    }


def with_earlier(sums: Sums, earlier: Sums) -> Sums:
    """Of each count of answers the larger one, since they never fall while the cache server has its data."""
    answers = {**(earlier.answers or {}), **(sums.answers or {})}
    curve = max(sums, earlier, key=answers_by_minute)
    return replace(
        sums,
        answers={
            item_id: larger((earlier.answers or {}).get(item_id, {}), counts) for item_id, counts in answers.items()
        },
        step_minutes=curve.step_minutes,
        minutes=curve.minutes,
        countries=larger(earlier.countries, sums.countries),
        languages=larger(earlier.languages, sums.languages),
        # The room leaves the store.
        arrivals=sums.arrivals or earlier.arrivals,
        # So do networks leave the cache server.
        networks=max(earlier.networks, sums.networks, key=lambda networks: networks.get("units", 0)),
    )


def answers_by_minute(sums: Sums) -> int:
    """How many answers the curve has. Points are no measure of it: those of a long sale are coarse."""
    return sum(sum(counts.values()) for counts in sums.minutes.values())


def larger(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    return Counter(one) | Counter(other)


def written(sums: Sums) -> dict[str, Any]:
    """Words that nobody was told are left out."""
    answers = {item_id: +Counter(counts) for item_id, counts in (sums.answers or {}).items()}
    return {"answers": answers, "minutes": sums.minutes, **{name: getattr(sums, name) for name in KEPT_NAMES}}


def read(kept: KeptReport) -> Sums:
    """JSON has keys that are texts."""
    numbered = {name: {int(key): counts for key, counts in kept.sums[name].items()} for name in ("answers", "minutes")}
    # A newer release may keep more, and an older one has kept less.
    known = {name: kept.sums[name] for name in KEPT_NAMES if name in kept.sums}
    return Sums(**{**known, **numbered}, kept_at=kept.made_at)
