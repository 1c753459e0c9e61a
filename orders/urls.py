from django.urls import path

from orders import pages
from orders.payments import simulated_pages

urlpatterns = [
    path("orders/", pages.orders, name="orders"),
    path("orders/<uuid:number>/", pages.order, name="order"),
    path("reservations/<uuid:reservation_id>/", pages.reservation, name="reservation"),
    path("pay/simulated/<str:reference>/", simulated_pages.payment, name="simulated-payment"),
]
