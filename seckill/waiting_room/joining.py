"""Joining a waiting room from outside: limits and the rules of the sale come first, for accounts without a place."""

from django.conf import settings

from seckill.guards.pass_guards import GuardedCall, GuardRefused, check_joining
from seckill.live.answer_counts import answer_counts
from seckill.models import Sale
from seckill.waiting_room.room_ledger import find_arrival
from seckill.waiting_room.standing import Standing, join
from shop.http.rate_limits import Limit, take_all

JOIN_LIMIT = "30/minute"


def join_by_rules(
    *, sale: Sale, account_id: int, network: str, guarded: GuardedCall | None, claimed: int | None = None
) -> Standing | None:
    """As `join`. Raises LimitReached; and GuardRefused if the sale has rules, unless the account has a place."""
    by_account = Limit("queue", JOIN_LIMIT, str(account_id))
    by_network = Limit("queue_by_network", settings.PASS_LIMIT_BY_NETWORK, f"{network}:{sale.pk}")
    take_all(*([by_account, by_network] if claimed is None else [by_account]))
    if claimed is None and guarded is not None:
        check_newcomer(guarded)
    return join(sale_id=sale.pk, account_id=account_id, claimed=claimed)


def check_newcomer(call: GuardedCall) -> None:
    room, arrival = find_arrival(sale_id=call.sale.pk, account_id=call.buyer_id)
    # Without a room nobody gets a place now.
    if room is None or arrival is not None:
        return
    try:
        check_joining(call)
    except GuardRefused as error:
        answer_counts.add(first_item_id(call.sale), error.guard.value)
        raise


def first_item_id(sale: Sale) -> int:
    """Where refusals of a whole sale are counted, and its challenges are had."""
    return sale.items.order_by("pk").values_list("pk", flat=True)[0]
