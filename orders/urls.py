from django.urls import path

from orders import metrics, pages

urlpatterns = [
    path("metrics", metrics.metrics, name="metrics"),
    path("orders/", pages.orders, name="orders"),
    path("orders/<uuid:number>/", pages.order, name="order"),
    path("reservations/<uuid:reservation_id>/", pages.reservation, name="reservation"),
]
