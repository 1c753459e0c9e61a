from django.urls import path

from shop.catalogue import pages

urlpatterns = [
    path("products/", pages.products, name="products"),
    path("products/<slug:slug>/", pages.product, name="product"),
    path("categories/<slug:slug>/", pages.category, name="category"),
    path("search/", pages.search, name="search"),
]
