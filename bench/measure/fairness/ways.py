"""One sale under each way to give out units, by the shop's own code: scripts of the store, permutation, draw, rules.

No HTTP and no waiting: the opening comes at once, and so does the end of the time to come in a waiting room.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone
from django_redis import get_redis_connection

from bench.load_sale import open_load_sale
from bench.measure.fairness.crowd import Buyer, Crowd
from seckill import ledger
from seckill.draw.carrying_out import close_entries, draw_now, give_units
from seckill.models import Draw, DrawEntry, Sale, SaleItem, WaitingRoom
from seckill.outcomes import Outcome
from seckill.passes.passes import new_reservation_id
from seckill.store.keys import keys_of, room_keys_of
from seckill.waiting_room.admission import move_room
from seckill.waiting_room.room_ledger import GRACE_MS, arrive, read_room
from seckill.waiting_room.standing import why_not_let_in
from shop.times.timestamps import now_ms

OPEN_SECONDS = 3600
# People a minute: at once.
PACE = 60_000_000
# More calls of places than any run needs.
MOVES_MAX = 1_000


class SumsDiffer(Exception):
    """The units that buyers were told to have are not those that the store holds."""


def first_come(crowd: Crowd, *, units: int) -> list[Buyer]:
    """Passes can be had before the opening. The winners are the first who reserve."""
    item = sale_item(crowd, units=units, admission=Sale.Admission.FIRST_COME)
    admitted = {buyer for buyer in crowd.shuffled() if crowd.may_take_part(buyer, sale=item.sale)}
    winners: list[Buyer] = []
    for buyer in crowd.by_reaction():
        if buyer in admitted:
            if not reserved(item, buyer):
                # So is everybody later.
                break
            winners.append(buyer)
    return checked(item, winners)


def waiting_room(crowd: Crowd, *, units: int) -> list[Buyer]:
    """All join before the opening whom the rules let. The winners are those whose places are called first."""
    item = sale_item(crowd, units=units, admission=Sale.Admission.WAITING_ROOM)
    sale_id = item.sale_id
    WaitingRoom.objects.filter(sale=sale_id).update(key=crowd.chance.randbytes(32).hex())
    move(sale_id)
    everybody = [buyer for buyer in crowd.shuffled() if crowd.may_take_part(buyer, sale=item.sale)]
    numbers = {buyer: arrive(sale_id=sale_id, account_id=buyer.account_id).number for buyer in everybody}
    open_now(item)
    room = read_room(sale_id=sale_id)
    assert room is not None
    in_line = sorted(everybody, key=lambda buyer: room.place(numbers[buyer]) or 0)
    winners: list[Buyer] = []
    called = 0
    for _move in range(MOVES_MAX):
        if len(winners) == units or called == len(in_line):
            return checked(item, winners)
        let_time_pass(sale_id)
        move(sale_id)
        found = read_room(sale_id=sale_id)
        assert found is not None
        for buyer in in_line[called : found.called]:
            if why_not_let_in(sale_id=sale_id, account_id=buyer.account_id) is not None:
                raise SumsDiffer("a place that was called is not let in")
            if reserved(item, buyer):
                winners.append(buyer)
        called = found.called
    raise SumsDiffer("the line does not move")


def draw(crowd: Crowd, *, units: int) -> list[Buyer]:
    """All enter before the opening, each for one unit, whom the rules let."""
    item = sale_item(crowd, units=units, admission=Sale.Admission.DRAW)
    Draw.objects.filter(sale=item.sale_id).update(seed=crowd.chance.randbytes(32).hex())
    entering = [buyer for buyer in crowd.shuffled() if crowd.may_take_part(buyer, sale=item.sale)]
    buyers = {buyer.account_id: buyer for buyer in entering}
    DrawEntry.objects.bulk_create(
        DrawEntry(
            item=item,
            buyer_id=account_id,
            units=1,
            entry_id=UUID(int=crowd.chance.getrandbits(128), version=4),
            reservation_id=new_reservation_id(item.pk),
        )
        for account_id in buyers
    )
    open_now(item)
    close_entries(sale_id=item.sale_id)
    draw_now(sale_id=item.sale_id)
    give_units(item.pk)
    won = DrawEntry.objects.filter(item=item, status=DrawEntry.Status.WON, reserved_at__isnull=False)
    winners = checked(item, [buyers[account_id] for account_id in won.values_list("buyer_id", flat=True)])
    # Another run with the same seed has the same ids.
    DrawEntry.objects.filter(item=item).delete()
    return winners


Way = Callable[..., list[Buyer]]
WAYS: dict[str, Way] = {"first come, first served": first_come, "waiting room": waiting_room, "draw": draw}


def sale_item(crowd: Crowd, *, units: int, admission: Sale.Admission) -> SaleItem:
    item = open_load_sale(
        name="Fairness",
        quantity=units,
        per_buyer_max=1,
        open_seconds=OPEN_SECONDS,
        hold_seconds=OPEN_SECONDS,
        opens_in_seconds=0 if admission == Sale.Admission.FIRST_COME else 300,
        admission=admission,
    )
    Sale.objects.filter(pk=item.sale_id).update(pace=PACE, **crowd.rule.fields)
    return SaleItem.objects.select_related("sale").get(pk=item.pk)


def reserved(item: SaleItem, buyer: Buyer) -> bool:
    answer = ledger.reserve(
        item_id=item.pk, reservation_id=new_reservation_id(item.pk), buyer_id=buyer.account_id, units=1
    )
    if answer.outcome not in (Outcome.RESERVED, Outcome.HELD_BY_OTHERS):
        raise SumsDiffer(f"a buyer is told {answer.outcome}")
    return answer.outcome is Outcome.RESERVED


def checked(item: SaleItem, winners: list[Buyer]) -> list[Buyer]:
    counters = ledger.read(item_id=item.pk)
    if counters is None or (counters.held, counters.left) != (len(winners), (item.quantity or 0) - len(winners)):
        raise SumsDiffer(f"{len(winners)} winners, but the store says {counters}")
    if len({buyer.account_id for buyer in winners}) != len(winners):
        raise SumsDiffer("an account has won twice")
    return winners


def move(sale_id: int) -> None:
    """One look of the sweep at the room. Without notes of presence everybody counts as there."""
    move_room(Sale.objects.select_related("waiting_room").prefetch_related("items").get(pk=sale_id), backlog=0)


def store() -> Any:
    return get_redis_connection("seckill")


def open_now(item: SaleItem) -> None:
    """The opening is a moment ago, for PostgreSQL and for the store."""
    opened_ms = now_ms() - 1_000
    Sale.objects.filter(pk=item.sale_id).update(opens_at=timezone.now() - timedelta(seconds=1))
    store().hset(keys_of(item.pk).item, "opens_ms", opened_ms)
    if item.sale.has_room:
        store().hset(room_keys_of(item.sale_id).room, mapping={"opens_ms": opened_ms, "next_ms": opened_ms})


def let_time_pass(sale_id: int) -> None:
    """The time to come is over for all who were called and got no pass."""
    steps = room_keys_of(sale_id).steps
    for number, step in enumerate(store().lrange(steps, 0, -1)):
        at_ms, _colon, counts = step.decode().partition(":")
        store().lset(steps, number, f"{int(at_ms) - GRACE_MS}:{counts}")
