"""The catalogue over HTTP. The same for everybody; names and texts in the language of Accept-Language."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.generics import ListAPIView, RetrieveAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from shop.catalogue.category_tree import CategoryTree
from shop.catalogue.listing import Ordering, ProductFilter, find_page, visible_products, with_parts
from shop.catalogue.serializers import CategorySerializer, ProductListParameters, ProductSerializer
from shop.databases.replica import may_lag, reading_alias
from shop.http.list_pages import list_answer
from shop.http.problem_codes import refusals
from shop.http.public_answers import IF_NONE_MATCH, LANGUAGE, UNCHANGED, public_answer
from shop.http.serializers import QueryParameters
from shop.models import Category, Product
from shop.search.search_limit import count_search


@method_decorator(public_answer, name="dispatch")
class ProductListView(APIView):
    """Products of the shop, in pages. The header `Link` has the addresses of the previous and the next page.

    `Total-Count` says how many there are. A search forgives a typo where nothing has what was typed.
    """

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        parameters=[ProductListParameters, LANGUAGE, IF_NONE_MATCH],
        responses={
            200: ProductSerializer(many=True),
            **UNCHANGED,
            **refusals("invalid", "not_found", "too_many_attempts"),
        },
    )
    @may_lag
    def get(self, request: Request) -> HttpResponse:
        count_search(request)
        asked = ProductListParameters.of(request)
        number, size = asked["page"], asked["page_size"]
        page = find_page(product_filter_of(asked), page=number, size=size)
        data = ProductSerializer(page.products, many=True).data
        return list_answer(request, data, count=page.count, page=number, page_size=size)


def product_filter_of(asked: dict[str, Any]) -> ProductFilter:
    category_ids = None
    if slug := asked.get("category"):
        tree = CategoryTree()
        category = tree.find(slug)
        if category is None:
            raise ValidationError({"category": _("There is no category “%(slug)s”.") % {"slug": slug}})
        category_ids = tree.ids_in(category)
    return ProductFilter(
        typed=asked.get("search"),
        category_ids=category_ids,
        min_price_minor=asked.get("min_price"),
        max_price_minor=asked.get("max_price"),
        ordering=Ordering(asked["ordering"]) if "ordering" in asked else None,
    )


@method_decorator(public_answer, name="dispatch")
class ProductView(RetrieveAPIView[Product]):
    """One product with its variants, their prices and the units in stock."""

    authentication_classes = ()
    permission_classes = ()
    serializer_class = ProductSerializer
    queryset = Product.objects.none()
    lookup_field = "slug"

    def get_queryset(self) -> "QuerySet[Product]":
        return with_parts(visible_products().using(reading_alias()))

    @extend_schema(
        parameters=[LANGUAGE, IF_NONE_MATCH],
        responses={200: ProductSerializer, **UNCHANGED, **refusals("not_found")},
    )
    @may_lag
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)


@method_decorator(public_answer, name="dispatch")
class CategoryListView(ListAPIView[Category]):
    """All categories in their order, without pages. `parent` makes them a tree."""

    authentication_classes = ()
    permission_classes = ()
    serializer_class = CategorySerializer
    pagination_class = None
    queryset = Category.objects.none()

    def get_queryset(self) -> "QuerySet[Category]":
        return Category.objects.using(reading_alias()).select_related("parent")

    @extend_schema(
        parameters=[LANGUAGE, IF_NONE_MATCH],
        responses={200: CategorySerializer(many=True), **UNCHANGED, **refusals("invalid", "unavailable")},
    )
    @may_lag
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        QueryParameters.of(request)
        return super().get(request, *args, **kwargs)
