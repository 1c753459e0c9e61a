"""The one way to write the address of an order into a mail."""

from django.conf import settings

from orders.models import Order


def order_link(order: Order) -> str:
    """The whole address of the order's page, in the language that is active."""
    return settings.SHOP_URL + order.get_absolute_url()
