from django.urls import path

from seckill.api import challenge_views, draw_views, line_views, live_views, place_views, views

urlpatterns = [
    path("sales/", views.SaleListView.as_view(), name="api-sales"),
    path("sales/<int:pk>/", views.SaleView.as_view(), name="api-sale"),
    path("sales/<int:sale_id>/live/", live_views.SaleLiveView.as_view(), name="api-sale-live"),
    path("sales/<int:sale_id>/queue/", place_views.PlaceView.as_view(), name="api-queue"),
    path("sales/<int:sale_id>/draw/", draw_views.DrawView.as_view(), name="api-draw"),
    path("sales/<int:sale_id>/draw/file/", draw_views.DrawFileView.as_view(), name="api-draw-file"),
    path("sale-items/<int:item_id>/entries/", draw_views.EntryView.as_view(), name="api-entries"),
    path("sale-items/<int:item_id>/live/", live_views.LiveView.as_view(), name="api-live"),
    path("sale-items/<int:item_id>/challenges/", challenge_views.ChallengeView.as_view(), name="api-challenges"),
    path("sale-items/<int:item_id>/passes/", views.PassView.as_view(), name="api-passes"),
    path("sale-items/<int:item_id>/reservations/", views.ReservationView.as_view(), name="api-reserve"),
    path("sale-items/<int:item_id>/waiting-list/", line_views.WaitingListView.as_view(), name="api-waiting-list"),
]
