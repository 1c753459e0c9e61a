from django.urls import path

from seckill import pages
from seckill.draw import draw_pages
from seckill.waiting_room import room_page

urlpatterns = [
    path("", pages.home, name="home"),
    path("sales/<int:pk>/", pages.sale, name="sale"),
    path("sales/<int:pk>/queue/", room_page.queue, name="queue"),
    path("sales/<int:pk>/draw/", draw_pages.draw, name="draw"),
    path("sales/<int:pk>/enter/", draw_pages.enter_draw, name="draw-entry"),
    path("sale-items/<int:item_id>/reserve/", pages.reserve, name="reserve"),
]
