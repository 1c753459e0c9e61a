"""The calls of a buyer in the ordinary shop: the cart, the checkout, and those of every buyer who has an order."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self
from uuid import uuid4

from bench.faults.history import Action
from bench.faults.wire.http_client import Answer, BuyerClient

ADDRESS = {"name": "Lin Wei", "line1": "1 Nanjing Road", "city": "Shanghai", "country": "CN", "phone": "13800138000"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShopperClient(BuyerClient):
    """Calls of one purchase. `credentials.reservation_id` is the key of its checkout."""

    @property
    def key(self) -> str:
        return self.credentials.reservation_id

    def with_new_key(self) -> Self:
        """The same buyer with another purchase to make."""
        return replace(self, credentials=replace(self.credentials, reservation_id=str(uuid4())))

    def fill_cart(self, *, units_of: Mapping[str, int], attempt: int = 0) -> Answer:
        """Make the cart hold exactly these units, by SKU."""
        lines = [{"sku": sku, "units": units} for sku, units in units_of.items()]
        return self._call(
            Action.FILL_CART,
            "PUT",
            "/api/v1/cart/",
            attempt=attempt,
            body={"lines": lines},
            headers=self._bearer,
            units=sum(units_of.values()),
        )

    def check_out(self, *, units: int, attempt: int = 0) -> Answer:
        """Order what is in the cart, so many units in all. The same key and body for every attempt."""
        return self._call(
            Action.CHECK_OUT,
            "POST",
            "/api/v1/checkout/",
            attempt=attempt,
            body={"shipping_address": ADDRESS, "shipping_method": "free", "note": self.key},
            headers={**self._bearer, "Idempotency-Key": self.key},
            units=units,
        )
