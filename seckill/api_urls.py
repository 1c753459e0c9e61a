from django.urls import path

from seckill import api

urlpatterns = [
    path("sales/", api.SaleListView.as_view(), name="api-sales"),
    path("sales/<int:pk>/", api.SaleView.as_view(), name="api-sale"),
    path("sale-items/<int:item_id>/live/", api.LiveView.as_view(), name="api-live"),
    path("sale-items/<int:item_id>/passes/", api.PassView.as_view(), name="api-passes"),
    path("sale-items/<int:item_id>/reservations/", api.ReservationView.as_view(), name="api-reserve"),
]
