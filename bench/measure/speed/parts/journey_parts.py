"""The part that sends a whole crowd through the shop, from the page of the sale to the paid order."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import django
from django.contrib.auth.models import User

from bench import load_buyers
from bench.load_sale import PRICE_MINOR, open_load_items, retire
from bench.measure.speed import measured_sales
from bench.measure.speed.journeys.walks import STEPS, Crowd, Person, Told, walk_all
from bench.measure.speed.part import Part, Sample, Server, WrongAnswer
from bench.measure.speed.parts.reserving_parts import check_sold, orders_of
from bench.measure.speed.server_groups import SHOP
from bench.percentiles import percentile
from orders.models import Order, OrderStatus

# In a run of the usual length; a shorter run has fewer.
PEOPLE_PER_SECOND_OF_RUN, PEOPLE_MAX = 2_000, 10_000
UNITS = (334, 333, 333)
# Everybody comes within this time, and the sale opens at its end.
COMING_SECONDS = 60.0
CLIENT_PROCESSES = 2


def journeys(server: Server) -> Sample:
    """Raises WrongAnswer if an answer was wrong, a yes has no order, or a unit was sold twice.

    A shop that is too busy is no wrong answer: the figures say how many people gave up.
    """
    people_count = min(PEOPLE_PER_SECOND_OF_RUN * server.seconds, PEOPLE_MAX)
    users = User.objects.in_bulk(load_buyers.load_buyer_ids(count=people_count)).values()
    sessions = [(user.pk, measured_sales.session_of(user)) for user in users]
    items = open_load_items(
        name="Journeys",
        quantities=UNITS,
        per_buyer_max=1,
        open_seconds=3_600,
        hold_seconds=900,
        opens_in_seconds=COMING_SECONDS,
    )
    sale = items[0].sale
    people = [
        Person(number, user_id, key, sale.pk, items[number % len(items)].pk, PRICE_MINOR)
        for number, (user_id, key) in enumerate(sessions)
    ]
    crowds = [
        Crowd(people[first::CLIENT_PROCESSES], server.port, sale.opens_at.timestamp())
        for first in range(CLIENT_PROCESSES)
    ]
    with ProcessPoolExecutor(CLIENT_PROCESSES, mp_context=get_context("spawn"), initializer=django.setup) as clients:
        told = list(clients.map(walk_all, crowds))
    if failed := Counter(line for one in told for line in one.failed):
        most = ", ".join(f"{count} × {line}" for line, count in failed.most_common(5))
        raise WrongAnswer(f"{failed.total():,} calls of {people_count:,} people had a wrong answer: {most}")
    gave_up = sum((one.gave_up for one in told), Counter())
    for item in items:
        told_yes = sum(one.yes[item.pk] for one in told)
        # Somebody who gave up may have a yes that they have not heard.
        check_sold(item, orders_of(item), told_yes=told_yes, connections=gave_up["reserve"])
    paid = Order.objects.filter(lines__sale_item__in=items, status=OrderStatus.PAID).count()
    reported = sum(one.paid for one in told)
    if not reported <= paid <= reported + gave_up["webhook"]:
        raise WrongAnswer(f"{reported:,} payments were reported, but {paid:,} orders are paid")
    for item in items:
        retire(item)
    return Sample(figures={**times_of(told), **counts_of(told, people_count=people_count, paid=paid)})


def counts_of(told: Sequence[Told], *, people_count: int, paid: int) -> Mapping[str, float]:
    return {
        "people": people_count,
        "yes": sum(sum(one.yes.values()) for one in told),
        "paid": paid,
        "busy": sum(one.busy for one in told),
        "gave_up": sum(one.gave_up.total() for one in told),
        "client_late_ms": max(one.late_ms for one in told),
    }


def times_of(told: Iterable[Told]) -> Mapping[str, float]:
    told = list(told)
    figures: dict[str, float] = {}
    for step in STEPS:
        ordered = sorted(ms for one in told for ms in one.times_ms.get(step, []))
        name = step.replace(" ", "_")
        figures[f"{name}_p50_ms"], figures[f"{name}_p99_ms"] = percentile(ordered, 0.5), percentile(ordered, 0.99)
    return figures


PARTS = (Part("journeys", f"journeys of {PEOPLE_MAX:,} people to {sum(UNITS):,} units", SHOP, journeys, once=True),)
