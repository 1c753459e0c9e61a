from django.urls import path

from seckill import pages

urlpatterns = [
    path("", pages.home, name="home"),
    path("sales/<int:pk>/", pages.sale, name="sale"),
    path("sale-items/<int:item_id>/reserve/", pages.reserve, name="reserve"),
]
