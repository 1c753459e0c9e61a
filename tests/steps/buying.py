"""What a buyer does: reserves in a flash sale, fills a cart, checks out; and the orders that come of it."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Sum
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from orders.cart.cart_holder import Holder, open_cart
from orders.cart.cart_lines import add_units
from orders.checkout.placement import CheckoutRequest
from orders.life import intake
from orders.models import Order, OrderLine, OrderStatus
from seckill import ledger
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from seckill.passes import passes
from shop.models import StockChange, Variant
from tests.steps.shop import units_in

ADDRESS = {
    "name": "Li Lei",
    "line1": "Tianshan Road 123",
    "city": "Shanghai",
    "postcode": "200051",
    "country": "CN",
    "phone": "13800138000",
}
# With all fields that an address can have.
HANGZHOU = {
    "name": "王小明",
    "line1": "文三路 478 号",
    "line2": "3 幢 502 室",
    "district": "西湖区",
    "city": "杭州市",
    "region": "浙江省",
    "postcode": "310012",
    "country": "CN",
    "phone": "+86 138 0013 8000",
}
GUEST = "guest@example.com"
HELD = (OrderStatus.AWAITING_PAYMENT,)
SOLD = (OrderStatus.PAID, OrderStatus.SHIPPED, OrderStatus.COMPLETED)


def signed_in(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def with_token(user: User) -> APIClient:
    """Signed in by the API, with the password of the cast."""
    client = APIClient()
    answer = client.post("/api/v1/auth/token/", {"username": user.username, "password": f"{user.username}-password"})
    assert answer.status_code == 201, answer.content
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {answer.json()['token']}")
    return client


def reserve(item: SaleItem, buyer: User, units: int = 1) -> UUID:
    """A reservation that was told yes and is not an order yet."""
    reservation_id = passes.new_reservation_id(item.pk)
    answer = ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=buyer.pk, units=units)
    assert answer.outcome == Outcome.RESERVED
    return reservation_id


def reserve_by_api(item_id: int, pass_text: str, body: Any = None, **more: Any) -> Any:
    path = f"/api/v1/sale-items/{item_id}/reservations/"
    return APIClient().post(path, body, HTTP_AUTHORIZATION=f"Pass {pass_text}", **more)


def told(item: SaleItem, buyer: User, units: int = 1) -> Outcome:
    """The answer to a buyer who asks for units."""
    reservation_id = passes.new_reservation_id(item.pk)
    return ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=buyer.pk, units=units).outcome


def new_buyers(count: int) -> list[User]:
    return User.objects.bulk_create(User(username=f"buyer-{uuid4()}", password="!") for _ in range(count))


def reserve_often(item: SaleItem, times: int = 1) -> list[UUID]:
    """Reservations of as many buyers."""
    return [reserve(item, buyer) for buyer in new_buyers(times)]


def drained(item: SaleItem) -> None:
    """Every reservation so far has become an order."""
    while intake.drain_once(item_id=item.pk):
        pass


def order_of(item: SaleItem, buyer: User, units: int = 1) -> Order:
    """An order that awaits payment, made by a reservation and intake."""
    reservation_id = reserve(item, buyer, units)
    intake.drain_once(item_id=item.pk)
    return Order.objects.get(reservation_id=reservation_id)


def with_address(*users: User) -> None:
    """Mails are queued for buyers with an address only."""
    for user in users:
        User.objects.filter(pk=user.pk).update(email=f"{user.username}@example.com")


def plain_order(variant: Variant, buyer: User | None, units: int, unit_price_minor: int, **fields: Any) -> Order:
    """An order of ordinary goods as a checkout leaves it. The stock stays as it is."""
    now = timezone.now()
    times = {"reserved_at": now, "expires_at": now + timedelta(minutes=15)}
    values = {"amount_minor": units * unit_price_minor, "currency": "CNY", **times, **fields}
    order = Order.objects.create(buyer=buyer, **values)
    OrderLine.objects.create(order=order, variant=variant, units=units, unit_price_minor=unit_price_minor)
    order.refresh_from_db()
    return order


def make_orders(count: int, *, buyer: User, item: SaleItem, status: OrderStatus = OrderStatus.PAID) -> list[Order]:
    now = timezone.now()
    # Mails are queued for buyers with an address only.
    User.objects.filter(pk=buyer.pk).update(email="buyer@example.com")
    orders = Order.objects.bulk_create(
        Order(
            reservation_id=uuid4(),
            buyer=buyer,
            status=status,
            amount_minor=1900,
            currency="CNY",
            reserved_at=now,
            expires_at=now + timedelta(minutes=15),
            ended_at=None if status == OrderStatus.AWAITING_PAYMENT else now,
            settled_at=now,
        )
        for _ in range(count)
    )
    OrderLine.objects.bulk_create(
        OrderLine(order=order, variant=item.variant, sale_item=item, units=1, unit_price_minor=1900) for order in orders
    )
    return orders


def buyer_of(order: Order) -> User:
    """The buyer of an order that is not a guest's."""
    return User.objects.get(pk=order.reserved_by)


def status_of(order: Order) -> str:
    """As it is in the database now."""
    order.refresh_from_db()
    return order.status


def let_deadlines_pass() -> None:
    Order.objects.update(expires_at=F("expires_at") - timedelta(days=1))


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


def put_address(api: APIClient, order: Order, **changes: str) -> Any:
    """The delivery address of an order, by the API."""
    return api.put(f"/api/v1/orders/{order.number}/shipping-address/", ADDRESS | changes, format="json")


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
