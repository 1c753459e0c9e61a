"""What people in a waiting list do, and what is seen of it."""

from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from rest_framework.test import APIClient

from seckill.ledger_words import Joined
from seckill.line import line_ledger
from seckill.models import SaleItem
from seckill.passes import passes
from tests.steps.buying import signed_in


def join(item: SaleItem, buyer: User, units: int = 1) -> UUID:
    """A place in the line, which was told yes."""
    reservation_id = passes.new_reservation_id(item.pk)
    answer = line_ledger.join_line(item_id=item.pk, reservation_id=reservation_id, buyer_id=buyer.pk, units=units)
    assert answer.word is Joined.JOINED
    return reservation_id


def join_by_api(item: SaleItem, buyer: User, units: int = 1, *, pass_text: str = "") -> Any:
    text = pass_text or passes.issue(item_id=item.pk, buyer_id=buyer.pk, expires_s=passes.expiry_s())
    path = f"/api/v1/sale-items/{item.pk}/waiting-list/"
    return APIClient().post(path, {"units": units}, format="json", HTTP_AUTHORIZATION=f"Pass {text}")


def status(buyer: User, reservation_id: UUID | str) -> dict[str, Any]:
    response = signed_in(buyer).get(f"/api/v1/reservations/{reservation_id}/")
    return response.json() if response.status_code == 200 else {"status": response.status_code}


def waiting(item: SaleItem) -> int:
    return line_ledger.count_waiting(item_ids=[item.pk])[item.pk]
