from django.urls import path

from bench.measure.speed.bare_site import views

urlpatterns = [
    path("hello/", views.hello),
    path("post/", views.PostView.as_view()),
    path("row-lock/<int:stock_id>/", views.RowLockView.as_view()),
    path("conditional/<int:stock_id>/", views.ConditionalView.as_view()),
]
