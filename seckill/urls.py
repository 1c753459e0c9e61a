from django.urls import path

from seckill import pages

urlpatterns = [
    path("", pages.home, name="home"),
    path("sales/<int:pk>/", pages.sale, name="sale"),
]
