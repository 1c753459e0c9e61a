"""Steps that the checkout's tests share: goods, carts, a wish that is complete, and whether the stock agrees."""

from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Sum
from django.test import Client
from rest_framework.test import APIClient

from orders.cart.cart_holder import Holder, open_cart
from orders.cart.cart_lines import add_units
from orders.checkout.placement import CheckoutRequest
from orders.models import OrderLine, OrderStatus
from shop.models import StockChange, Variant
from tests.products import make_product, variant_of

ADDRESS = {
    "name": "Lin Wei",
    "line1": "1 Nanjing Road",
    "line2": "",
    "city": "Shanghai",
    "region": "",
    "postcode": "200001",
    "country": "CN",
    "phone": "",
}
GUEST = "guest@example.com"
HELD = (OrderStatus.AWAITING_PAYMENT,)
SOLD = (OrderStatus.PAID, OrderStatus.SHIPPED, OrderStatus.COMPLETED)


def goods(slug: str, *, units: int = 10, price_minor: int = 1000) -> Variant:
    names = {"name": slug.title(), "name_zh_hans": f"商品 {slug}"}
    return variant_of(make_product(slug=slug, price_minor=price_minor, units=units, **names))


def fill(holder: Holder, **units_of: int) -> Holder:
    """Put units into the cart, by SKU without its prefix. Returns the holder, a guest with the token."""
    for slug, units in units_of.items():
        with transaction.atomic():
            cart = open_cart(holder)
            add_units(cart=cart, variant=Variant.objects.get(sku=f"SKU-{slug}"), units=units)
        holder = holder if holder.buyer_id else Holder(token=cart.token)
    return holder


def wish_of(holder: Holder, **changes: Any) -> CheckoutRequest:
    values: dict[str, Any] = {
        "holder": holder,
        "address": ADDRESS,
        "shipping_method": "free",
        "language": "en",
        "email": "" if holder.buyer_id else GUEST,
    }
    return CheckoutRequest(**{**values, **changes})


def units_in(variant: Variant) -> tuple[int, int, int]:
    """Available, held, sold."""
    variant.refresh_from_db()
    return variant.available, variant.held, variant.sold


def assert_stock_agrees(variant: Variant) -> None:
    """The counters are what the journal's entries lead to, and what the orders hold and have bought."""
    available = held = 0
    for entry in StockChange.objects.filter(variant=variant).order_by("pk"):
        assert (entry.available_before, entry.held_before) == (available, held)
        available, held = entry.available_after, entry.held_after
    in_orders = {
        name: OrderLine.objects.filter(variant=variant, sale_item=None, order__status__in=statuses).aggregate(
            units=Sum("units", default=0)
        )["units"]
        for name, statuses in (("held", HELD), ("sold", SOLD))
    }
    assert units_in(variant) == (available, in_orders["held"], in_orders["sold"])
    assert held == in_orders["held"]


def put(client: APIClient, token: str = "", **units_of: int) -> Any:
    lines = [{"sku": f"SKU-{slug}", "units": units} for slug, units in units_of.items()]
    headers = {"Cart-Token": token} if token else {}
    return client.put("/api/v1/cart/", {"lines": lines}, format="json", headers=headers)


def check_out(client: APIClient, token: str = "", *, key: str | None = "key", **changes: Any) -> Any:
    body = {"shipping_address": ADDRESS, "shipping_method": "free", **({"email": GUEST} if token else {}), **changes}
    headers = {"Cart-Token": token} if token else {}
    if key is not None:
        headers["Idempotency-Key"] = key
    return client.post("/api/v1/checkout/", body, format="json", headers=headers)


def add_to_cart(client: Client, slug: str, units: int = 1) -> Any:
    """As the form of a product's page does: no token, and a browser that says where it comes from."""
    form = {"sku": f"SKU-{slug}", "units": units}
    return client.post("/cart/add/", form, headers={"Sec-Fetch-Site": "same-origin"})


def form_of(client: Client, **changes: Any) -> dict[str, Any]:
    """What a browser sends that was shown the checkout with the address filled in."""
    page = client.post("/checkout/", {**ADDRESS, "refresh": "1"})
    hidden = {name: page.context[name] for name in ("key",)}
    seen = {"seen_total": page.context["contents"].total_minor, "shipping": page.context["chosen"].choice}
    return {**ADDRESS, "email": GUEST, **hidden, **seen, **changes}


def guest_carts(count: int, **units_of: int) -> list[Holder]:
    return [fill(Holder(), **units_of) for _ in range(count)]


def new_key() -> str:
    return str(uuid4())


def member(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client
