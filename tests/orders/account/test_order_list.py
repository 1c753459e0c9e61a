"""My orders: those of a state, and paying, following the parcel and buying again from the list."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone, translation

from orders.cart.cart_lines import UNITS_MAX
from orders.models import CartLine, Order, OrderStatus
from orders.pages.order_list import STATES
from seckill.models import SaleItem
from shop.languages.page_language import path_in
from shop.models import Product, Variant
from tests.steps.buying import add_to_cart, make_orders, order_of, plain_order
from tests.steps.shop import goods, text_of
from tests.steps.staff import messages_on

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_contents_of_an_order_are_listed_as_the_reader_writes_lists(buyer: User) -> None:
    order = bought(buyer, goods("cup"))
    order.lines.create(variant=goods("pot"), sku="pot", units=1, unit_price_minor=1000)
    assert order.contents == "2 × Cup, 1 × Pot"
    with translation.override("zh-hans"):
        assert order.contents == "2 × 商品 cup，1 × 商品 pot"


def bought(buyer: User, variant: Variant) -> Order:
    """An ordinary order that has arrived."""
    return plain_order(variant, buyer, 2, 1000, status=OrderStatus.COMPLETED, ended_at=timezone.now())


def shown(client: Client, state: str) -> set[str]:
    text = text_of(client, f"/orders/?state={state}")
    return {
        str(number) for number in Order.objects.values_list("number", flat=True) if f'data-order="{number}"' in text
    }


def test_each_status_is_under_one_state_and_a_word_of_nobody_shows_all(
    as_buyer: Client, item: SaleItem, buyer: User
) -> None:
    assert sorted(status for _name, statuses in STATES.values() for status in statuses) == sorted(OrderStatus)
    orders = {
        status: make_orders(1, buyer=buyer, item=item, status=status)[0]
        for status in (OrderStatus.AWAITING_PAYMENT, OrderStatus.SHIPPED, OrderStatus.EXPIRED, OrderStatus.REFUNDED)
    }
    for state, (_name, statuses) in STATES.items():
        assert shown(as_buyer, state) == {str(order.number) for status, order in orders.items() if status in statuses}
    # A part goes back without another status.
    Order.objects.filter(pk=orders[OrderStatus.SHIPPED].pk).update(refunded_minor=500)
    refunded = {str(orders[status].number) for status in (OrderStatus.SHIPPED, OrderStatus.REFUNDED)}
    assert shown(as_buyer, "refunds") == refunded
    assert " ".join(text_of(as_buyer, "/orders/").split()).count("Refunds −CN¥5.00") == 1
    assert len(shown(as_buyer, "x")) == len(orders)
    assert "没有这样的订单。" in text_of(as_buyer, path_in("zh-hans", "/orders/") + "?state=completed")


def test_a_row_has_one_link_to_its_order_and_what_can_be_done_now(
    as_buyer: Client, item: SaleItem, buyer: User
) -> None:
    order = order_of(item, buyer)
    text = text_of(as_buyer, "/orders/")
    assert text.count(f'href="{order.get_absolute_url()}"') == 1
    assert f'action="{order.pay_path}"' in text
    assert "Buy again" not in text
    Order.objects.update(
        status=OrderStatus.SHIPPED,
        ended_at=timezone.now(),
        shipped_at=timezone.now(),
        carrier="SF Express",
        tracking_number="SF123",
    )
    text = text_of(as_buyer, "/orders/")
    assert "SF123" in text.split('id="track-')[1].split(">")[0]
    assert f'action="{order.pay_path}"' not in text
    # A unit won in a sale is bought again at today's price.
    assert f'href="/products/{item.product.slug}/"' in text


def test_buying_again_puts_what_is_still_sold_into_the_cart(as_buyer: Client, buyer: User) -> None:
    tea = goods("tea")
    order = bought(buyer, tea)
    assert f"{order.get_absolute_url()}again/" in text_of(as_buyer, "/orders/")
    answer = as_buyer.post(f"{order.get_absolute_url()}again/")
    assert answer["Location"] == "/cart/"
    assert list(CartLine.objects.values_list("variant", "units")) == [(tea.pk, 2)]
    assert as_buyer.cookies["cart_units"].value.endswith(".2")
    CartLine.objects.all().delete()
    Variant.objects.update(is_active=False)
    assert "Buy again" not in text_of(as_buyer, "/orders/")
    answer = as_buyer.post(f"{order.get_absolute_url()}again/", follow=True)
    assert messages_on(answer) == ["This product is no longer sold."]


def test_a_line_that_becomes_shorter_in_the_cart_names_the_bound_that_made_it_so(as_buyer: Client, buyer: User) -> None:
    tea, cup = goods("tea", units=100), goods("cup", units=100)
    order = plain_order(tea, buyer, 15, 1000, status=OrderStatus.COMPLETED, ended_at=timezone.now())
    order.lines.create(variant=cup, sku="cup", units=15, unit_price_minor=1000)
    Product.objects.filter(pk=tea.product_id).update(order_units_max=2)
    again = f"{order.get_absolute_url()}again/"
    texts = ["You can order at most 2 units of “Tea”."]
    assert messages_on(as_buyer.post(again, follow=True)) == texts
    texts.append(f"You can order at most {UNITS_MAX} units of one product.")
    assert messages_on(as_buyer.post(again, follow=True)) == texts
    assert messages_on(add_to_cart(as_buyer, "tea")) == texts[:1]


def test_at_the_limit_the_page_without_scripts_leads_to_what_waits_for_payment(
    as_buyer: Client, item: SaleItem, buyer: User
) -> None:
    order_of(item, buyer)
    assert 'href="/orders/?state=to_pay"' in text_of(as_buyer, f"/sale-items/{item.pk}/reserve/")
