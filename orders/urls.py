from django.urls import path

from orders import pages

urlpatterns = [
    path("orders/", pages.orders, name="orders"),
    path("orders/<uuid:number>/", pages.order, name="order"),
]
