from django.urls import path

from shop.http import tokens

urlpatterns = [path("auth/token/", tokens.TokenView.as_view(), name="api-token")]
