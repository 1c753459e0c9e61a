"""Others while a crowd reserves as fast as it is answered: buyers who pay, staff, and who opens a page."""

from collections.abc import Mapping

from django.urls import reverse

from bench.measure.speed import measured_sales
from bench.measure.speed.part import Part, Sample, Server, WrongAnswer
from bench.measure.speed.parts.winning_parts import (
    ACCEPTED_PER_SECOND_MAX,
    check_sold,
    item_with_passes,
    load_of,
    orders_of,
    told_yes,
    warm_up,
)
from bench.measure.speed.server_groups import SHOP
from bench.measure.speed.wrk import run_wrk
from bench.stampede.paying_buyers import PayingBuyers, unpaid_orders
from bench.stampede.setup import Address
from bench.stampede.timed_calls import CallTimes, Visitors

# More than are paid for in a second.
ORDERS_PER_SECOND = 20
# The columns of the tables have words without spaces.
NAMES = {"start a payment": "start_payment", "admin": "list_of_orders"}


def beside_a_stampede(server: Server) -> Sample:
    """How long their calls take. Raises WrongAnswer if one failed, or a reservation was lost or sold twice."""
    warm_up(server)
    address = Address("http", "127.0.0.1", server.port)
    orders = unpaid_orders(count=ORDERS_PER_SECOND * server.seconds)
    count = ACCEPTED_PER_SECOND_MAX * server.seconds
    item, file = item_with_passes(server, quantity=count, passes=count)
    with PayingBuyers(address=address, orders=orders) as paying, Visitors(address=address, pages=pages()) as visitors:
        report = run_wrk(load_of(server, item, file), seconds=server.seconds)
    check_sold(item, orders_of(item), told_yes=told_yes(report, refusals_max=0))
    measured_sales.retire(item)
    return Sample(figures={**figures_of({**paying.times(), **visitors.times()}), "accepted": report.per_second})


def pages() -> Mapping[str, tuple[str, Mapping[str, str]]]:
    staff = {"Cookie": f"sessionid={measured_sales.staff_session_key()}"}
    return {
        "admin": (reverse("admin:orders_order_changelist"), staff),
        "sale page": (reverse("sale", args=[measured_sales.shown_sale().pk]), {}),
    }


def figures_of(times: Mapping[str, CallTimes]) -> dict[str, float]:
    """Raises WrongAnswer if a call failed, or there was none."""
    figures: dict[str, float] = {}
    for kind, measured in times.items():
        if measured.failed or not measured.calls:
            raise WrongAnswer(f"{kind}: {measured.failed} of {measured.calls} calls failed")
        name = NAMES.get(kind, kind.replace(" ", "_"))
        figures[f"{name}_p50_ms"], figures[f"{name}_p99_ms"] = measured.p50_ms, measured.p99_ms
    return figures


PARTS = (Part(name="beside", title="others beside a stampede", server=SHOP, measure=beside_a_stampede),)
