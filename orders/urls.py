from django.urls import path

from orders.account import pages as account_pages
from orders.cart import pages as cart_pages
from orders.checkout import pages as checkout_pages
from orders.invoices import pages as invoice_pages
from orders.pages import delivery_page, guest_orders, my_orders, order_list, reservation_page
from orders.payments.simulated import pages as simulated_pages
from orders.reminders import calendar_file
from orders.reminders import pages as reminder_pages

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
    path("orders/", order_list.orders, name="orders"),
    path("orders/find/", guest_orders.find, name="order-find"),
    path("orders/guest/<str:signed>/", guest_orders.order, name="guest-order"),
    path("orders/guest/<str:signed>/address/", guest_orders.address, name="guest-order-address"),
    path("orders/guest/<str:signed>/pay/", guest_orders.pay, name="guest-order-pay"),
    path("orders/guest/<str:signed>/cancel/", guest_orders.cancel, name="guest-order-cancel"),
    path("orders/guest/<str:signed>/invoice/", guest_orders.invoice, name="guest-order-invoice"),
    path("orders/guest/<str:signed>/invoice.pdf", guest_orders.invoice_file, name="guest-order-invoice-pdf"),
    path("orders/guest/<str:signed>/invoice/<int:document_id>/", guest_orders.invoice, name="guest-order-note"),
    path("orders/guest/<str:signed>/invoice/<int:document_id>.pdf", guest_orders.invoice_file, name="guest-note-pdf"),
    path("orders/<uuid:number>/", my_orders.order, name="order"),
    path("orders/<uuid:number>/again/", order_list.again, name="order-again"),
    path("orders/<uuid:number>/invoice/", invoice_pages.page, name="order-invoice"),
    path("orders/<uuid:number>/invoice.pdf", invoice_pages.pdf, name="order-invoice-pdf"),
    path("orders/<uuid:number>/invoice/<int:document_id>/", invoice_pages.page, name="order-note"),
    path("orders/<uuid:number>/invoice/<int:document_id>.pdf", invoice_pages.pdf, name="order-note-pdf"),
    path("orders/<uuid:number>/pay/", my_orders.pay, name="order-pay"),
    path("orders/<uuid:number>/address/", delivery_page.address, name="order-address"),
    path("orders/<uuid:number>/cancel/", my_orders.cancel, name="order-cancel"),
    path("reservations/<uuid:reservation_id>/", reservation_page.reservation, name="reservation"),
    path("reminders/confirm/<str:signed>/", reminder_pages.confirm, name="reminder-confirm"),
    path("reminders/stop/<str:signed>/", reminder_pages.stop, name="reminder-stop"),
    path("reminders/<slug:kind>/<int:pk>/", reminder_pages.ask, name="reminder"),
    path("sales/<int:pk>/calendar.ics", calendar_file.calendar, name="sale-calendar"),
    path("pay/simulated/<slug:reference>/", simulated_pages.payment, name="simulated-payment"),
]
