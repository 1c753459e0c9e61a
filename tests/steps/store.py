"""What the reservation store holds of an item, and a store that is away."""

from collections import Counter
from typing import Any

from django.conf import LazySettings
from pytest_django import Settings

from seckill import ledger
from seckill.line import line_ledger
from seckill.models import SaleItem
from seckill.store.client import StoreUnreachable
from seckill.store.keys import keys_of


def counters_of(item: SaleItem) -> ledger.Counters:
    counters = ledger.read(item_id=item.pk)
    assert counters is not None
    return counters


def figures(item: SaleItem) -> tuple[int | None, int, int, int]:
    """left, held, sold in the store, taken in PostgreSQL."""
    item.refresh_from_db()
    return *left_held_sold(item), item.taken


def left_held_sold(item: SaleItem) -> tuple[int | None, int, int]:
    counters = counters_of(item)
    return counters.left, counters.held, counters.sold


def store_away(settings: LazySettings | Settings, name: str = "seckill") -> Any:
    """Point the shop at an address where no store answers ("default": the cache). Returns the setting to restore."""
    former = settings.CACHES
    settings.CACHES = {**former, name: {**former[name], "LOCATION": "redis://127.0.0.1:1/0"}}
    return former


def store_answers() -> bool:
    try:
        ledger.clock_ms(item_id=1)
    except StoreUnreachable:
        return False
    return True


class StoredItem:
    """What the store holds of one item. `client` is any raw client of its store.

    `restored` are the holds that came from an order and not through the outbox; `forgotten` those that were removed.
    `limited` False: somebody has more
    units than the limit, which is right where the limit was lowered, or an order restored that was there before.
    """

    def __init__(self, client: Any, item_id: int) -> None:
        self.client = client
        self.keys = keys_of(item_id)
        self.restored: set[str] = set()
        self.forgotten: set[str] = set()
        self.limited = True

    def item(self) -> dict[str, str]:
        return texts(self.client.hgetall(self.keys.item))

    def buyers(self) -> dict[str, str]:
        return texts(self.client.hgetall(self.keys.buyers))

    def holds(self) -> dict[str, str]:
        return texts(self.client.hgetall(self.keys.holds))

    def entries(self) -> list[dict[str, str]]:
        return [texts(fields) for _, fields in self.client.xrange(self.keys.outbox)]

    def latest(self) -> list[tuple[int, str]]:
        """The latest reservations, newest first: the counter after each, and its id."""
        return numbered(self.client.lrange(self.keys.latest, 0, -1))

    def counters(self) -> tuple[str | None, str, str]:
        """left, held, sold"""
        item = self.item()
        return item.get("left"), item["held"], item["sold"]

    def check_invariants(self) -> None:
        """Section 5 of the design, counted from the holds upwards. The outbox must not have been drained."""
        pipeline = self.client.pipeline(transaction=True)
        for key in (self.keys.item, self.keys.buyers, self.keys.holds, self.keys.places):
            pipeline.hgetall(key)
        pipeline.xrange(self.keys.outbox).lrange(self.keys.latest, 0, -1).zrange(self.keys.line, 0, -1, withscores=True)
        *hashes, stream, listed, line = pipeline.execute()
        item, buyers, holds, places = map(texts, hashes)
        entries = [texts(fields) for _, fields in stream]
        units_in: Counter[str] = Counter()
        units_of: Counter[str] = Counter()
        for hold in holds.values():
            state, buyer, units, _ = hold.split(":")
            units_in[state] += int(units)
            if state != "ended":
                units_of[buyer] += int(units)
        assert set(units_in) <= {"held", "sold", "ended"}
        assert item["held"] == str(units_in["held"])
        assert item["sold"] == str(units_in["sold"])
        assert item["reservations"] == str(len(holds) + len(self.forgotten))
        assert item.get("forgotten", "0") == str(len(self.forgotten))
        assert buyers == {buyer: str(units) for buyer, units in units_of.items()}
        assert not self.limited or all(units <= int(item["per_buyer_max"]) for units in units_of.values())
        if "quantity" in item:
            assert int(item["left"]) >= 0
            assert int(item["quantity"]) == int(item["left"]) + int(item["held"]) + int(item["sold"])
        else:
            assert "left" not in item
        made = [*(entry["reservation"] for entry in entries), *self.restored]
        assert sorted(made) == sorted([*holds, *self.forgotten])
        latest = numbered(listed)
        numbers = [number for number, _ in latest]
        assert numbers == sorted(set(numbers), reverse=True)
        assert not numbers or numbers[0] <= int(item["reservations"])
        assert {reservation_id for _, reservation_id in latest} <= {*holds, *self.forgotten}
        check_places(places, line, smallest=item.get("smallest_waiting"))

    def places(self) -> dict[str, str]:
        return texts(self.client.hgetall(self.keys.places))

    def line(self) -> list[str]:
        """The buyers in the order in which they came."""
        found = self.client.zrange(self.keys.line, 0, -1, withscores=True)
        return [buyer.decode() for buyer, score in sorted(found, key=lambda place: place[1] % line_ledger.SHIFT)]

    def check_line(self) -> None:
        """That of `check_invariants` for an item of which the outbox was drained."""
        pipeline = self.client.pipeline(transaction=True)
        pipeline.hgetall(self.keys.places).zrange(self.keys.line, 0, -1, withscores=True).hgetall(self.keys.item)
        places, line, item = pipeline.execute()
        check_places(texts(places), line, smallest=texts(item).get("smallest_waiting"))


def check_places(places: dict[str, str], line: list[tuple[bytes, float]], *, smallest: str | None) -> None:
    """The line and the places have the same buyers, and the item knows for how few units one of them waits."""
    arrivals = int(places.pop("arrivals", "0"))
    scores = {}
    for buyer, place in places.items():
        _, units, arrival = place.split(":")
        assert 1 <= int(arrival) <= arrivals
        scores[buyer] = int(units) * line_ledger.SHIFT + int(arrival)
    assert scores == {buyer.decode(): int(score) for buyer, score in line}
    least = min((score // line_ledger.SHIFT for score in scores.values()), default=None)
    assert smallest == (None if least is None else str(least))


def numbered(entries: list[bytes]) -> list[tuple[int, str]]:
    parts = [entry.decode().split(":") for entry in entries]
    return [(int(number), reservation_id) for number, reservation_id in parts]


def texts(fields: dict[bytes, bytes]) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in fields.items()}
