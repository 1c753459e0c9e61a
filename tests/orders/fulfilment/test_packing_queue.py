"""Those who pack see paid orders with an address, oldest first; print what they need; and ship from there."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from orders.fulfilment.packing_queue import OrderToPack
from orders.life import lifecycle
from orders.models import Order, OrderLine, OrderStatus, Refund, ShippingAddress
from seckill.models import SaleItem
from shop.models import Variant
from tests.steps.buying import ADDRESS, order_of, plain_order
from tests.steps.paying import refund_part
from tests.steps.shop import goods, make_product, statements, statements_for, variant_of
from tests.steps.staff import TO_PACK, employee, messages_on, slips_page

pytestmark = pytest.mark.usefixtures("packer")


@pytest.fixture(scope="module", autouse=True)
def _roles(rows_of_the_file: None) -> None:
    call_command("staff_roles")


@pytest.fixture
def packer(client: Client, db: None) -> User:
    """Signed in with the role of the warehouse."""
    person = employee()
    person.groups.set([Group.objects.get(name="Warehouse")])
    client.force_login(person)
    return person


def paid(variant: Variant, buyer: User, units: int = 1, *, minutes_ago: int = 0, address: bool = True) -> Order:
    ended_at = timezone.now() - timedelta(minutes=minutes_ago)
    order = plain_order(variant, buyer, units, variant.price_minor, status=OrderStatus.PAID, ended_at=ended_at)
    if address:
        ShippingAddress.objects.create(order=order, **ADDRESS)
    return order


def listed(client: Client, **query: str) -> list[int]:
    return [order.pk for order in client.get(TO_PACK, query).context["cl"].result_list]


def choose(client: Client, action: str, *orders: Order, **more: Any) -> Any:
    sent = {"action": action, "_selected_action": [order.pk for order in orders], **more}
    return client.post(TO_PACK, sent, follow=True)


def test_the_queue_has_paid_unsent_orders_with_an_address_oldest_first(client: Client, buyer: User) -> None:
    tea = goods("tea")
    young, old = paid(tea, buyer, minutes_ago=5), paid(tea, buyer, minutes_ago=90)
    without = paid(tea, buyer, address=False)
    for status in set(OrderStatus) - {OrderStatus.PAID}:
        other = paid(tea, buyer)
        ended_at = None if status == OrderStatus.AWAITING_PAYMENT else timezone.now()
        Order.objects.filter(pk=other.pk).update(status=status, ended_at=ended_at)
    assert listed(client) == [old.pk, young.pk]
    assert listed(client, address="no") == [without.pk]
    assert listed(client, q=old.shown_code) == [old.pk]


def test_the_queue_says_what_goes_into_the_parcel(client: Client, buyer: User) -> None:
    order = paid(goods("tea"), buyer, 3)
    Order.objects.update(buyer_note="Ring <twice>")
    OrderLine.objects.create(order=order, variant=goods("pot"), units=1, unit_price_minor=1000)
    Order.objects.update(amount_minor=4000)
    tea, pot = order.lines.order_by("pk")
    refund_part(order, 2000, units_of_line={tea.pk: 1, pot.pk: 1})
    page = client.get(TO_PACK).content.decode()
    assert f"<b>2 ×</b> {tea.title}" in page
    assert pot.title not in page
    assert "Ring &lt;twice&gt;" in page
    assert f"{ADDRESS['name']} · {ADDRESS['city']} · CN" in page


def test_the_pick_list_adds_up_the_units_of_each_variant(client: Client, buyer: User, rival: User) -> None:
    # Given two orders of the same shirt in two sizes
    shirt = make_product(slug="shirt", name="Shirt", price_minor=5000, option_names="Size")
    small = variant_of(shirt)
    Variant.objects.filter(pk=small.pk).update(options="S", sku="SHIRT-S")
    large = Variant.objects.create(product=shirt, options="L", sku="SHIRT-L", price_minor=5000)
    small.refresh_from_db()
    first, second = paid(small, buyer, 2), paid(small, rival, 3)
    OrderLine.objects.create(order=second, variant=large, units=1, unit_price_minor=5000)
    # When their pick list is printed
    page = choose(client, "print_pick_list", first, second)
    # Then each variant has one row, by SKU, with the orders that want it
    picks = page.context["picks"]
    assert [(pick.variant.sku, pick.units, [units for _order, units in pick.orders]) for pick in picks] == [
        ("SHIRT-L", 1, [1]),
        ("SHIRT-S", 5, [2, 3]),
    ]
    text = " ".join(page.content.decode().split())
    assert "Size: <b>S</b>" in text
    assert f"{first.shown_code}</span> × 2" in text
    assert "2 orders" in text
    assert "6 units" in text


def test_orders_that_were_refunded_or_sent_since_are_not_picked_and_are_named(client: Client, buyer: User) -> None:
    tea = goods("tea")
    kept, sent, refunded = paid(tea, buyer), paid(tea, buyer), paid(tea, buyer)
    assert lifecycle.ship(order_id=sent.pk)
    assert lifecycle.refund(order_id=refunded.pk, units_back=False)
    page = client.get(f"{TO_PACK}pick-list/?orders={kept.pk},{sent.pk},{refunded.pk}")
    assert [pick.units for pick in page.context["picks"]] == [1]
    text = " ".join(page.content.decode().split())
    assert f'{sent.shown_code}</span> (shipped), <span class="code">{refunded.shown_code}</span>' in text


def test_the_chosen_slips_are_one_page_with_a_sheet_and_a_barcode_each(client: Client, buyer: User) -> None:
    orders = [paid(goods(f"tea-{number}"), buyer, minutes_ago=-number) for number in range(2)]
    Order.objects.update(buyer_note="Ring twice", staff_note="bad payer")
    page = choose(client, "print_packing_slips", *orders).content.decode()
    assert page.count('<article class="sheet">') == 2
    assert "Ring twice" in page
    # Neither prices nor what staff say to each other.
    for text in ("10.00", "bad payer"):
        assert text not in page
    for order in orders:
        assert order.shown_code in page
        assert f'aria-label="{order.code}"' in page
    assert "style=" not in page


def test_a_slip_of_an_order_that_must_not_be_sent_says_so(client: Client, buyer: User, item: SaleItem) -> None:
    waiting, refunded = order_of(item, buyer), paid(goods("tea"), buyer)
    assert lifecycle.refund(order_id=refunded.pk, units_back=False)
    assert "its money goes back" in client.get(slips_page(refunded)).content.decode()
    slip = client.get(slips_page(waiting)).content.decode()
    assert "it is not paid" in slip
    assert "The order has no address." in slip


def test_hostile_addresses_print_nothing(client: Client) -> None:
    for ids in ("", "x", "٣", "-1", "9" * 30, ",,"):
        for page in ("pick-list", "packing-slips"):
            assert client.get(f"{TO_PACK}{page}/", {"orders": ids, "more": "<b>"}).status_code == 200, (page, ids)


def test_a_packer_ships_from_the_queue_and_comes_back_to_it(client: Client, buyer: User) -> None:
    order = paid(goods("tea"), buyer)
    choose(client, "refund_orders", order, confirmed="yes")
    assert not Refund.objects.exists()
    asked = choose(client, "ship_orders", order)
    assert f'href="{TO_PACK}"' in asked.content.decode()
    number = {f"order-{order.pk}-carrier": "SF", f"order-{order.pk}-tracking_number": "SF1"}
    done = choose(client, "ship_orders", order, confirmed="yes", **number)
    assert messages_on(done) == ["1 order is marked as shipped."]
    assert done.redirect_chain == [(TO_PACK, 302)]
    order.refresh_from_db()
    assert (order.status, order.tracking_number) == (OrderStatus.SHIPPED, "SF1")
    assert listed(client) == []


def test_staff_who_may_not_see_orders_see_no_queue(client: Client, packer: User, buyer: User) -> None:
    order = paid(goods("tea"), buyer)
    packer.groups.clear()
    for page in (TO_PACK, slips_page(order), f"{TO_PACK}pick-list/?orders={order.pk}"):
        assert client.get(page).status_code == 403


def test_the_queue_is_read_by_its_own_index(buyer: User) -> None:
    paid(goods("tea"), buyer)
    with connection.cursor() as cursor:
        # The table is small, so PostgreSQL would read and sort all of it.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
    queue = OrderToPack.objects.filter(status=OrderStatus.PAID, shipping_address__isnull=False)
    assert "orders_order_to_pack" in queue[:25].explain()


def test_no_page_needs_more_statements_for_more_orders(client: Client, buyer: User) -> None:
    def made(count: int) -> list[Order]:
        return [paid(goods(f"tea-{uuid4().hex[:8]}"), buyer) for _ in range(count)]

    orders = made(2)
    pages = [TO_PACK, slips_page(*orders), f"{TO_PACK}pick-list/?orders={orders[0].pk},{orders[1].pk}"]
    few = [statements_for(client, page) for page in pages]
    ids = ",".join(str(order.pk) for order in [*orders, *made(3)])
    pages = [TO_PACK, f"{TO_PACK}packing-slips/?orders={ids}", f"{TO_PACK}pick-list/?orders={ids}"]
    assert [statements(client, page) for page in pages] == few
