"""The pages of the catalogue: lists of products, and one product. The same for everybody, and without scripts."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _

from shop.catalogue.category_tree import CategoryTree
from shop.catalogue.filters import FilterForm
from shop.catalogue.linked_data import product_data
from shop.catalogue.listing import find_page, visible_products, with_parts
from shop.catalogue.offering import offerings_of
from shop.catalogue.variant_pictures import every_value
from shop.databases.replica import may_lag, reading_alias
from shop.http.problems import limit_reached
from shop.http.public_answers import public_page
from shop.http.rate_limits import LimitReached
from shop.models import Category, Product
from shop.search.query import QUERY_CHARACTERS_MAX
from shop.search.search_limit import count_search

PAGE_SIZE = 24
# No buyer leafs further, and each page costs more than the one before.
PAGES_MAX = 500
# Numbers shown on each side of the current page.
NEIGHBOURS = 2


@dataclass(frozen=True, slots=True)
class Pages:
    """The way through a list. `numbers` has None where some are left out."""

    number: int
    last: int

    @property
    def previous(self) -> int | None:
        return self.number - 1 if self.number > 1 else None

    @property
    def next(self) -> int | None:
        return self.number + 1 if self.number < self.last else None

    @property
    def numbers(self) -> list[int | None]:
        near = range(max(1, self.number - NEIGHBOURS), min(self.last, self.number + NEIGHBOURS) + 1)
        shown = sorted({1, *near, self.last})
        numbers: list[int | None] = []
        for number in shown:
            if numbers and number - (numbers[-1] or 0) > 1:
                numbers.append(None)
            numbers.append(number)
        return numbers


@public_page
@may_lag
def products(request: HttpRequest) -> HttpResponse:
    return show_list(request, title=_("All products"))


@public_page
@may_lag
def category(request: HttpRequest, slug: str) -> HttpResponse:
    """The products of a category and of those below it."""
    tree = CategoryTree()
    shown = tree.find(slug)
    if shown is None:
        raise Http404
    return show_list(request, title=str(shown), tree=tree, shown=shown)


@public_page
@may_lag
def search(request: HttpRequest) -> HttpResponse:
    typed = request.GET.get("q", "").replace("\0", "").strip()[:QUERY_CHARACTERS_MAX]
    title = _("Results for “%(query)s”") % {"query": typed} if typed else _("Search")
    return show_list(request, title=title, typed=typed)


def show_list(
    request: HttpRequest,
    *,
    title: str,
    tree: CategoryTree | None = None,
    shown: Category | None = None,
    typed: str | None = None,
) -> HttpResponse:
    try:
        count_search(request)
    except LimitReached as error:
        return limit_reached(request, error)
    tree = tree or CategoryTree()
    number = page_number(request)
    form = FilterForm(request.GET, typed=typed)
    page = find_page(
        form.product_filter(category_ids=tree.ids_in(shown) if shown else None), page=number, size=PAGE_SIZE
    )
    if number > 1 and not page.count:
        raise Http404
    context = {
        "title": title,
        "offerings": offerings_of(page.products),
        "count": page.count,
        "forgiven": page.forgiven,
        "pages": Pages(number, min(-(-page.count // PAGE_SIZE), PAGES_MAX)),
        "filters": form,
        "typed": typed,
        "query": typed or "",
        "category": shown,
        "tree": tree,
        "path": tree.path_to(shown.parent_id) if shown else [],
        "branches": tree.branches(),
        "open_ids": {it.pk for it in tree.path_to(shown.pk)} if shown else set(),
        "children": tree.children(shown) if shown else [],
        "currency": settings.CURRENCY,
    }
    return render(request, "shop/catalogue/list.html", context)


def page_number(request: HttpRequest) -> int:
    text = request.GET.get("page", "1")
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= PAGES_MAX):
        raise Http404
    return int(text)


def picture_of(product: Product) -> dict[str, int]:
    """By SKU the number of the first picture that shows an option of the variant."""
    numbers: dict[str, int] = {}
    for number, picture in enumerate(product.pictures.all(), start=1):
        for variant in product.variants.all() if picture.option else ():
            if picture.option.casefold() in (value.casefold() for value in every_value(variant)):
                numbers.setdefault(variant.sku, number)
    return numbers


@public_page
@may_lag
def product(request: HttpRequest, slug: str) -> HttpResponse:
    shown = get_object_or_404(with_parts(visible_products().using(reading_alias())), slug=slug)
    offerings = offerings_of([shown])
    if not offerings:
        raise Http404
    tree = CategoryTree()
    path = tree.path_to(shown.category_id)
    context: dict[str, Any] = {
        "product": shown,
        "offering": offerings[0],
        "pictures": list(shown.pictures.all()),
        "picture_of": picture_of(shown),
        "tree": tree,
        "path": path,
        "data": product_data(offerings[0], path=path, address=f"{settings.SHOP_URL}{request.path}"),
    }
    return render(request, "shop/catalogue/product.html", context)
