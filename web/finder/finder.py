"""One search over orders, customers, products and sales. Each kind only for staff who may open its pages.

A bounded number of queries and rows for each kind, whatever the number of rows in the database.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Prefetch, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from orders.models import Order, with_lines
from orders.models.order import CODE_LENGTH
from orders.staff.order_search import PEOPLE_MAX, code_in, find_orders
from orders.staff.read_only_admin import amount_text, may_see_orders
from seckill.models import Sale
from seckill.staff.permissions import may_see_sales
from seckill.staff.phase_filter import labelled_phase
from shop.accounts.customer_admin import without_rights
from shop.languages.columns import in_all_languages
from shop.models import Picture, Product, Variant
from shop.staff.sidebar import has_permission
from shop.times.zone import named_time

# Of each kind. More are on the list to which a link leads.
ROWS_MAX = 8
TEXT_LENGTH_MAX = 100
# A product may have dozens of sizes and colours, which must not hide all others.
SKUS_MAX = 200


@dataclass(frozen=True, slots=True)
class Found:
    """A row of the answer, with what tells it from others."""

    title: str
    details: list[str]
    url: str
    picture: Picture | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """`rows` finds ROWS_MAX and one more, which says that there are more. `page` is the list of the admin."""

    title: str | Promise
    may_see: Callable[[HttpRequest], bool]
    rows: Callable[[str], Iterable[Found]]
    page: str


@dataclass(frozen=True, slots=True)
class Section:
    title: str | Promise
    rows: list[Found]
    more_url: str


@require_safe
def find_page(request: HttpRequest) -> HttpResponse:
    """For `AdminSite.admin_view`. The whole number of an order leads to its page: a scanner types it, and Enter."""
    # PostgreSQL takes no text with a NUL.
    text = request.GET.get("q", "").replace("\0", "").strip()[:TEXT_LENGTH_MAX]
    if may_see_orders(request) and (order := order_named(text)):
        return redirect(page_of(order))
    context = {
        **admin.site.each_context(request),
        "title": _("Search"),
        "found_text": text,
        "sections": find_all(request, text),
        "kinds": [kind.title for kind in kinds_for(request)],
        "too_short": bool(text) and not is_enough(text),
    }
    return TemplateResponse(request, "admin/find.html", context)


def find_all(request: HttpRequest, text: str) -> list[Section]:
    """What the person may see of what `text` may mean, kinds without any left out."""
    found = []
    for kind in kinds_for(request) if is_enough(text) else ():
        rows = list(kind.rows(text))
        if rows:
            more = f"{reverse(f'admin:{kind.page}')}?{urlencode({'q': text})}" if len(rows) > ROWS_MAX else ""
            found.append(Section(kind.title, rows[:ROWS_MAX], more))
    return found


def kinds_for(request: HttpRequest) -> list[Kind]:
    return [kind for kind in KINDS if kind.may_see(request)]


def is_enough(text: str) -> bool:
    """One Latin letter would find nearly everything; one Chinese character is a word."""
    return len(text) > 1 or (bool(text) and not text.isascii())


def order_named(text: str) -> Order | None:
    """The order whose whole number this is, as it is typed or read from the barcode of its packing slip."""
    code = code_in(text)
    return Order.objects.filter(code=code).first() if len(code) == CODE_LENGTH else None


def orders_found(text: str) -> Iterable[Found]:
    orders = find_orders(Order.objects.all(), text).select_related("buyer").prefetch_related(with_lines())
    for order in orders.order_by("-created_at", "-pk")[: ROWS_MAX + 1]:
        buyer = str(order.buyer or order.email)
        details = [order.get_status_display(), buyer, amount_text(order.amount_minor, order.currency), order.contents]
        yield Found(order.shown_code, [*details, named_time(order.created_at)], page_of(order))


def customers_found(text: str) -> Iterable[Found]:
    """By the columns that have an index for parts of a text."""
    named = Q(email__icontains=text) | Q(username__icontains=text)
    # Without an order: PostgreSQL would go through all accounts from the end for a text that few have.
    pks = list(without_rights(User.objects.filter(named)).values_list("pk", flat=True)[:PEOPLE_MAX])
    for person in User.objects.filter(pk__in=pks).order_by("-pk")[: ROWS_MAX + 1]:
        details = [person.email, person.get_full_name(), "" if person.is_active else _("blocked")]
        yield Found(person.get_username(), shown(details), reverse("admin:shop_customer_change", args=[person.pk]))


def products_found(text: str) -> Iterable[Found]:
    """By SKUs, with the variants that have them, and by names in all languages. SKUs have an index of their own."""
    with_sku: dict[int, list[Variant]] = {}
    for variant in Variant.objects.filter(sku__icontains=text)[:SKUS_MAX]:
        with_sku.setdefault(variant.product_id, []).append(variant)
    named = Q(pk__in=list(with_sku))
    for name in in_all_languages("name"):
        named |= Q(**{f"{name}__icontains": text})
    products = Product.objects.filter(named).select_related("category")
    pictures = Prefetch("pictures", Picture.objects.order_by("position", "pk"))
    for product in products.prefetch_related(pictures).order_by("-pk")[: ROWS_MAX + 1]:
        variants = [" ".join(shown([variant.sku, variant.options])) for variant in with_sku.get(product.pk, ())]
        details = [*variants, str(product.category or ""), "" if product.is_active else _("not shown")]
        picture = product.first_picture
        yield Found(str(product), shown(details), page_of(product), picture)


def sales_found(text: str) -> Iterable[Found]:
    named = Q()
    for name in in_all_languages("name"):
        named |= Q(**{f"{name}__icontains": text})
    for sale in Sale.objects.filter(named).order_by("-opens_at", "-pk")[: ROWS_MAX + 1]:
        yield Found(str(sale), [str(labelled_phase(sale)[1]), named_time(sale.opens_at)], page_of(sale))


KINDS = [
    Kind(gettext_lazy("Orders"), may_see_orders, orders_found, "orders_order_changelist"),
    Kind(gettext_lazy("Customers"), has_permission("auth.view_user"), customers_found, "shop_customer_changelist"),
    Kind(gettext_lazy("Products"), has_permission("shop.view_product"), products_found, "shop_product_changelist"),
    Kind(gettext_lazy("Sales"), may_see_sales, sales_found, "seckill_sale_changelist"),
]


def shown(details: list[str]) -> list[str]:
    return [text for text in details if text]


def page_of(row: Any) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
