"""Which products a list shows, and in which order. The pages and the API both ask here."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from django.conf import settings
from django.contrib.postgres.search import SearchRank
from django.db.models import Count, Exists, F, OrderBy, OuterRef, Prefetch, QuerySet, RowRange, Value, Window
from django.db.models.functions import Coalesce, NullIf
from django.utils.translation import get_language

from shop.databases.replica import reading_alias
from shop.languages.columns import column_in, in_default_language
from shop.models import Picture, Product, SearchEntry, Variant
from shop.search.query import Found, search


class Ordering(StrEnum):
    """The words of the API."""

    RELEVANCE = "relevance"
    NEWEST = "newest"
    CHEAPEST = "price"
    DEAREST = "-price"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class ProductFilter:
    """The products that a list shows. One variant must be within the prices, and with `only_available` in stock."""

    typed: str | None = None
    category_ids: list[int] | None = None
    min_price_minor: int | None = None
    max_price_minor: int | None = None
    only_available: bool = False
    # None: by relevance where something was typed, else the newest first.
    ordering: Ordering | None = None


@dataclass(frozen=True, slots=True)
class ProductPage:
    """Products of a list, and how many it has. `forgiven`: no product has the typed words, and these come close."""

    products: list[Product] = field(default_factory=list)
    count: int = 0
    forgiven: bool = False


def visible_products() -> "QuerySet[Product]":
    """Those that are shown and have a variant that can be bought."""
    return Product.objects.filter(Exists(buyable_variants().filter(product=OuterRef("pk"))), is_active=True)


def buyable_variants() -> "QuerySet[Variant]":
    return Variant.objects.filter(is_active=True)


def find_page(wanted: ProductFilter, *, page: int, size: int) -> ProductPage:
    """Page number `page`, from 1. Empty with a count of 0 where there is none, or beyond the last one."""
    for found in matching_entries(wanted):
        rows = numbers_of(wanted, found, page=page, size=size)
        # Beyond the last page of what was found, nothing is forgiven.
        if rows or (page > 1 and found.entries.exists()):
            return ProductPage(products_of([pk for pk, _ in rows]), rows[0][1] if rows else 0, found.forgiven)
    return ProductPage()


def numbers_of(wanted: ProductFilter, found: Found, *, page: int, size: int) -> list[tuple[int, int]]:
    """The numbers of the page's products in their order, each with the count of all pages."""
    # Only numbers are sorted and counted, in one pass. The products of the page are fetched by their numbers: together
    # with its product, each entry would take as long again, and a search has thousands.
    first, ordering = (page - 1) * size, ordering_of(wanted, found)
    # The count of all rows. The window has the order of the list so that PostgreSQL works out what it sorts by before
    # it keeps the rows for counting: otherwise it keeps their texts too, which for ten thousand go to the disk.
    count = Window(Count("pk"), order_by=ordering, frame=RowRange())
    return list(
        found.entries.annotate(count=count).order_by(*ordering).values_list("pk", "count")[first : first + size]
    )


def products_of(pks: list[int]) -> list[Product]:
    """In this order. One that has just been hidden is left out."""
    products = with_parts(visible_products().using(reading_alias()).filter(pk__in=pks)) if pks else ()
    shown = {product.pk: product for product in products}
    return [shown[pk] for pk in pks if pk in shown]


def matching_entries(wanted: ProductFilter) -> Iterable[Found]:
    """What to show, best first; the later ones are for where the earlier have nothing (shop/search/query.py)."""
    entries = SearchEntry.objects.using(reading_alias()).filter(is_visible=True)
    if wanted.min_price_minor is not None or wanted.max_price_minor is not None or wanted.only_available:
        entries = entries.filter(Exists(matching_variants(wanted).filter(product=OuterRef("pk"))))
    if wanted.category_ids is not None:
        entries = entries.filter(product__category__in=wanted.category_ids)
    if wanted.typed is None:
        return [Found(entries)]
    return search(entries, wanted.typed)


def matching_variants(wanted: ProductFilter) -> "QuerySet[Variant]":
    variants = buyable_variants()
    if wanted.min_price_minor is not None:
        variants = variants.filter(price_minor__gte=wanted.min_price_minor)
    if wanted.max_price_minor is not None:
        variants = variants.filter(price_minor__lte=wanted.max_price_minor)
    return variants.filter(available__gt=0) if wanted.only_available else variants


def ordering_of(wanted: ProductFilter, found: Found) -> list[OrderBy]:
    """Always one order, so that no product is on two pages of a list."""
    ordering = wanted.ordering or (Ordering.NEWEST if wanted.typed is None else Ordering.RELEVANCE)
    match ordering:
        case Ordering.RELEVANCE if found.query is not None:
            # The newest first, among equals.
            return [SearchRank(F("title"), found.query).desc(), F("pk").desc()]
        case Ordering.NAME:
            # A translated field is that of the buyer's language only in a query of its own model.
            return [name_in(get_language() or settings.LANGUAGE_CODE).asc(), F("pk").asc()]
        case Ordering.CHEAPEST | Ordering.DEAREST:
            lowest = F("lowest_minor")
            return [lowest.desc() if ordering is Ordering.DEAREST else lowest.asc(), F("pk").asc()]
    return [F("pk").desc()]


def name_in(language: str) -> F | Coalesce:
    """Of an entry's product, as its reader sees it: one without a name in the language has that of the first one."""
    name, first = column_in(language, "product__name"), in_default_language("product__name")
    return F(first) if name == first else Coalesce(NullIf(F(name), Value("")), F(first))


def with_parts(products: "QuerySet[Product]") -> "QuerySet[Product]":
    """With variants, pictures and category, in three queries for any number of products."""
    return products.select_related("category").prefetch_related(
        Prefetch("variants", buyable_variants().order_by("position", "pk")),
        Prefetch("pictures", Picture.objects.order_by("position", "pk")),
    )
