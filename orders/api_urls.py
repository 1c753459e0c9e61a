from django.urls import path, register_converter
from django.urls.converters import UUIDConverter

from orders.api import orders
from orders.api.delivery_address import OrderAddressView
from orders.api.lost_reservation import ReceiptView
from orders.api.me import MeView
from orders.cart.api import CartView
from orders.checkout.api import CheckoutView, ShippingMethodsView
from orders.payments.webhook import WebhookView
from orders.reminders.api import ReminderView


class AnyUUIDConverter(UUIDConverter):
    """Reads capital letters too (RFC 9562, 4), as some clients write them: those in Swift do."""

    regex = UUIDConverter.regex.replace("a-f", "a-fA-F")


register_converter(AnyUUIDConverter, "any_uuid")

urlpatterns = [
    path("me/", MeView.as_view(), name="api-me"),
    path("cart/", CartView.as_view(), name="api-cart"),
    path("shipping-methods/", ShippingMethodsView.as_view(), name="api-shipping-methods"),
    path("checkout/", CheckoutView.as_view(), name="api-checkout"),
    path("reservations/<any_uuid:reservation_id>/", orders.ReservationStatusView.as_view(), name="api-reservation"),
    path("receipts/", ReceiptView.as_view(), name="api-receipts"),
    path("reminders/", ReminderView.as_view(), name="api-reminders"),
    path("orders/", orders.OrderListView.as_view(), name="api-orders"),
    path("orders/<any_uuid:number>/", orders.OrderView.as_view(), name="api-order"),
    path("orders/<any_uuid:number>/pay/", orders.PayView.as_view(), name="api-order-pay"),
    path("orders/<any_uuid:number>/cancel/", orders.CancelView.as_view(), name="api-order-cancel"),
    path("orders/<any_uuid:number>/shipping-address/", OrderAddressView.as_view(), name="api-order-address"),
    path("payments/<slug:provider>/webhook/", WebhookView.as_view(), name="api-payment-webhook"),
]
