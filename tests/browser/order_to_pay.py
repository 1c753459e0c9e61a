"""A delivery address for orders whose test is about something else: the shop asks for one on the way to payment."""

from playwright.sync_api import Page

from orders.models import Order, ShippingAddress
from tests.steps.buying import ADDRESS


def start_payment(page: Page) -> None:
    """Press the button that leads to the payment page. The order has an address."""
    for order in Order.objects.filter(shipping_address=None):
        ShippingAddress.objects.create(order=order, **ADDRESS)
    page.click("#pay")


def fill_address(page: Page) -> None:
    """Fill in the form of the page between."""
    for name, value in ADDRESS.items():
        field = page.locator(f"[name={name}]")
        if name == "country":
            field.select_option(value)
        else:
            field.fill(value)
