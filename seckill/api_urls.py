from django.urls import path

from seckill import api
from seckill.live import live_views

urlpatterns = [
    path("sales/", api.SaleListView.as_view(), name="api-sales"),
    path("sales/<int:pk>/", api.SaleView.as_view(), name="api-sale"),
    path("sales/<int:sale_id>/live/", live_views.SaleLiveView.as_view(), name="api-sale-live"),
    path("sale-items/<int:item_id>/live/", live_views.LiveView.as_view(), name="api-live"),
    path("sale-items/<int:item_id>/passes/", api.PassView.as_view(), name="api-passes"),
    path("sale-items/<int:item_id>/reservations/", api.ReservationView.as_view(), name="api-reserve"),
]
