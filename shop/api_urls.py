from django.urls import path

from shop.accounts import tokens

urlpatterns = [path("auth/token/", tokens.TokenView.as_view(), name="api-token")]
