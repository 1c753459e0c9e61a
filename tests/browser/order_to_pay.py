"""Orders of tests that are about what comes after: reserved without a browser, and with an address before payment."""

from django.contrib.auth.models import User
from playwright.sync_api import Page

from orders.life import intake
from orders.models import Order, ShippingAddress
from seckill.models import SaleItem
from tests.steps.buying import ADDRESS, reserve


def order_to_pay(item: SaleItem, buyer: User) -> Order:
    """An order that awaits payment, beside a running shop, whose worker may bring it in at the same moment."""
    reservation_id = reserve(item, buyer)
    intake.drain_all(item_id=item.pk)
    return Order.objects.get(reservation_id=reservation_id)


def open_order(page: Page, shop: str, order: Order) -> None:
    page.goto(f"{shop}/orders/{order.number}/")


def start_payment(page: Page) -> None:
    """Press the button that leads to the payment page. The order has an address."""
    for order in Order.objects.filter(shipping_address=None):
        ShippingAddress.objects.create(order=order, **ADDRESS)
    page.click("#pay")
