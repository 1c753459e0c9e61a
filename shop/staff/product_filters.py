"""Filters of the lists of products and of stock."""

from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from shop.models import Product, Variant
from shop.stock.low_stock import is_for_sale, is_low


class StockFilter(admin.SimpleListFilter):
    """Of products, those with such a variant; of variants, those that are so."""

    title = _("stock")
    parameter_name = "stock"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("low", _("low")), ("none", _("nothing available")), ("held", _("held by checkouts"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        variants = Variant.objects.all()
        if self.value() == "low":
            variants = variants.filter(is_for_sale(), is_low())
        elif self.value() == "none":
            variants = variants.filter(is_for_sale(), available=0)
        elif self.value() == "held":
            variants = variants.filter(held__gt=0)
        else:
            return queryset
        if queryset.model is Product:
            return queryset.filter(Exists(variants.filter(product=OuterRef("pk"))))
        return queryset.filter(Exists(variants.filter(pk=OuterRef("pk"))))


class InSaleFilter(admin.SimpleListFilter):
    """Products in a sale that is not over."""

    title = _("sale")
    parameter_name = "sale"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("published", _("in a published sale")), ("draft", _("in a draft")), ("no", _("in no sale"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        of_product = Variant.objects.filter(product=OuterRef("pk"), sale_items__sale__closes_at__gt=timezone.now())
        if self.value() == "published":
            return queryset.filter(Exists(of_product.filter(sale_items__sale__published_at__isnull=False)))
        if self.value() == "draft":
            return queryset.filter(Exists(of_product.filter(sale_items__sale__published_at=None)))
        if self.value() == "no":
            return queryset.filter(~Exists(of_product))
        return queryset
