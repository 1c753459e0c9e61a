from django.urls import path

from orders import api

urlpatterns = [
    path("reservations/<uuid:reservation_id>/", api.ReservationStatusView.as_view(), name="api-reservation"),
    path("orders/", api.OrderListView.as_view(), name="api-orders"),
    path("orders/<uuid:number>/", api.OrderView.as_view(), name="api-order"),
]
