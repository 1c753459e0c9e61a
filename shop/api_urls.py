from django.urls import path

from shop import api

urlpatterns = [path("auth/token/", api.TokenView.as_view(), name="api-token")]
