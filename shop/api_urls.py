from django.urls import path

from shop.accounts import tokens
from shop.catalogue import api

urlpatterns = [
    path("auth/token/", tokens.TokenView.as_view(), name="api-token"),
    path("products/", api.ProductListView.as_view(), name="api-products"),
    path("products/<slug:slug>/", api.ProductView.as_view(), name="api-product"),
    path("categories/", api.CategoryListView.as_view(), name="api-categories"),
]
