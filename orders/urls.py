from django.urls import path

from orders import delivery_pages, guest_pages, pages
from orders.account import pages as account_pages
from orders.cart import pages as cart_pages
from orders.checkout import pages as checkout_pages
from orders.invoices import pages as invoice_pages
from orders.payments.simulated import pages as simulated_pages

urlpatterns = [
    path("accounts/", account_pages.overview, name="account"),
    path("accounts/data/", account_pages.data, name="account-data"),
    path("accounts/data/export/", account_pages.export, name="account-export"),
    path("accounts/delete/", account_pages.delete, name="account-delete"),
    path("cart/", cart_pages.cart, name="cart"),
    path("cart/change/", cart_pages.change, name="cart-change"),
    path("cart/add/", cart_pages.add, name="cart-add"),
    path("cart/add/confirm/", cart_pages.confirm_add, name="cart-add-confirm"),
    path("checkout/", checkout_pages.checkout, name="checkout"),
    path("orders/", pages.orders, name="orders"),
    path("orders/find/", guest_pages.find, name="order-find"),
    path("orders/guest/<str:signed>/", guest_pages.order, name="guest-order"),
    path("orders/guest/<str:signed>/address/", guest_pages.address, name="guest-order-address"),
    path("orders/guest/<str:signed>/pay/", guest_pages.pay, name="guest-order-pay"),
    path("orders/guest/<str:signed>/cancel/", guest_pages.cancel, name="guest-order-cancel"),
    path("orders/guest/<str:signed>/invoice/", guest_pages.invoice, name="guest-order-invoice"),
    path("orders/guest/<str:signed>/invoice.pdf", guest_pages.invoice_file, name="guest-order-invoice-pdf"),
    path("orders/<uuid:number>/", pages.order, name="order"),
    path("orders/<uuid:number>/invoice/", invoice_pages.page, name="order-invoice"),
    path("orders/<uuid:number>/invoice.pdf", invoice_pages.pdf, name="order-invoice-pdf"),
    path("orders/<uuid:number>/pay/", pages.pay, name="order-pay"),
    path("orders/<uuid:number>/address/", delivery_pages.address, name="order-address"),
    path("orders/<uuid:number>/cancel/", pages.cancel, name="order-cancel"),
    path("reservations/<uuid:reservation_id>/", pages.reservation, name="reservation"),
    path("pay/simulated/<str:reference>/", simulated_pages.payment, name="simulated-payment"),
]
