"""Waiting rooms: joining, asking for a place, and an opening that comes at once."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone
from django_redis import get_redis_connection
from rest_framework.test import APIClient

from seckill.models import Sale, SaleItem
from seckill.store.keys import keys_of, room_keys_of
from seckill.waiting_room.room_ledger import GRACE_MS, Room, read_room
from shop.times.timestamps import now_ms


def join(item: SaleItem, user: User | None, **body: str) -> Any:
    client = APIClient()
    client.force_authenticate(user)
    return client.post(f"/api/v1/sales/{item.sale_id}/queue/", body)


def joined(item: SaleItem, user: User, **body: str) -> dict[str, Any]:
    """The answer to somebody who has joined."""
    answer = join(item, user, **body)
    assert answer.status_code == 201, answer.content
    found: dict[str, Any] = answer.json()
    return found


def ask_place(item: SaleItem, token: str) -> Any:
    return APIClient().get(f"/api/v1/sales/{item.sale_id}/queue/", headers={"Authorization": f"Place {token}"})


def place_of(item: SaleItem, token: str) -> dict[str, Any]:
    answer = ask_place(item, token)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def room_of(item: SaleItem) -> Room:
    """What the store holds of the waiting room."""
    room = read_room(sale_id=item.sale_id)
    assert room is not None
    return room


def age_steps(item: SaleItem, *, ms: int = GRACE_MS) -> None:
    """People were called so much longer ago; by default, the time of everybody who was called is over."""
    key, store = room_keys_of(item.sale_id).steps, get_redis_connection("seckill")
    for number, step in enumerate(store.lrange(key, 0, -1)):
        at_ms, _, counts = step.decode().partition(":")
        store.lset(key, number, f"{int(at_ms) - ms}:{counts}")


def open_now(item: SaleItem) -> None:
    """The opening is a moment ago, for PostgreSQL and for the store."""
    opened_ms, store = now_ms() - 1_000, get_redis_connection("seckill")
    Sale.objects.filter(pk=item.sale_id).update(opens_at=timezone.now() - timedelta(seconds=1))
    store.hset(keys_of(item.pk).item, "opens_ms", opened_ms)
    store.hset(room_keys_of(item.sale_id).room, mapping={"opens_ms": opened_ms, "next_ms": opened_ms})
