"""The orders that wait to be packed, oldest first: what goes into each parcel, pick list, packing slips, shipping."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from orders.fulfilment.barcode import barcode_svg
from orders.models import REFUNDS, SOLD, Order, OrderLine, OrderStatus, with_lines, with_refunded_units
from orders.staff.bounded_choice import LISTED_MAX, limited_selection
from orders.staff.order_actions import SHIP, OrderActions
from orders.staff.read_only_admin import link_to, may_see_orders
from shop.catalogue.options import options_of
from shop.catalogue.variant_pictures import picture_of_variant
from shop.models import Picture, Variant

# A parcel needs an address; the others wait for their buyers.
HAS_ADDRESS = Q(shipping_address__isnull=False)


class OrderToPack(Order):
    """A paid order that was not sent."""

    class Meta:
        proxy = True
        default_permissions = ()
        # The oldest payment first, by the index orders_order_to_pack.
        ordering = ["ended_at", "pk"]
        verbose_name = _("order to pack")
        verbose_name_plural = _("orders to pack")


class AddressFilter(admin.SimpleListFilter):
    """Without a choice, the orders that can be packed."""

    title = _("Delivery address")
    parameter_name = "address"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("no", _("without an address"))]

    def choices(self, changelist: Any) -> Iterator[Any]:
        default, *others = super().choices(changelist)
        return iter([{**default, "display": _("with an address")}, *others])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        return queryset.exclude(HAS_ADDRESS) if self.value() == "no" else queryset.filter(HAS_ADDRESS)


@admin.register(OrderToPack)
class OrderToPackAdmin(OrderActions):
    list_title = _("To pack")
    list_display = ["order", "paid_since", "goods", "deliver_to", "sent_by", "buyer_note"]
    list_display_links = None
    list_filter = [AddressFilter, ("lines__sale_item__sale", AutocompleteSelectFilter)]
    list_filter_submit = True
    list_max_show_all = LISTED_MAX
    sortable_by = ()
    actions = ["print_pick_list", "print_packing_slips", "ship_orders"]

    def get_urls(self) -> list[URLPattern]:
        staff_only = self.admin_site.admin_view
        return [
            path("pick-list/", staff_only(self.pick_list_view), name="orders_ordertopack_pick_list"),
            path("packing-slips/", staff_only(self.packing_slips_view), name="orders_ordertopack_packing_slips"),
            *super().get_urls(),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        orders: QuerySet[Order] = super().get_queryset(request)
        return orders.filter(status=OrderStatus.PAID).select_related("shipping_address").prefetch_related(with_lines())

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **kwargs: object) -> HttpResponse:
        return redirect("admin:orders_order_change", object_id)

    @admin.display(description=_("order"))
    def order(self, order: Order) -> str:
        return link_to(order)

    @admin.display(description=_("paid since"))
    def paid_since(self, order: Order) -> Any:
        return order.ended_at

    @admin.display(description=_("goods"))
    def goods(self, order: Order) -> SafeString:
        return goods_of(order)

    @admin.display(description=_("Deliver to"), empty_value="–")
    def deliver_to(self, order: Order) -> str | None:
        address = getattr(order, "shipping_address", None)
        return " · ".join(filter(None, (address.name, address.city, address.country))) if address else None

    @admin.display(description=_("shipping method"), empty_value="–")
    def sent_by(self, order: Order) -> str | None:
        return order.shipping_name or None

    @admin.action(description=_("Pick list"), permissions=["view"])
    def print_pick_list(self, request: HttpRequest, queryset: QuerySet[Order]) -> HttpResponse:
        return self.page_of_chosen("pick_list", queryset)

    @admin.action(description=_("Packing slips"), permissions=["view"])
    def print_packing_slips(self, request: HttpRequest, queryset: QuerySet[Order]) -> HttpResponse:
        return self.page_of_chosen("packing_slips", queryset)

    def page_of_chosen(self, name: str, queryset: QuerySet[Order]) -> HttpResponse:
        """The page of the chosen orders, by an address: it can be printed again after a paper jam."""
        choice = limited_selection(queryset, possible=SHIP.possible)
        url = reverse(f"admin:orders_ordertopack_{name}")
        more = f"&more={choice.more}" if choice.more else ""
        return redirect(f"{url}?orders={','.join(map(str, choice.pks))}{more}")

    def pick_list_view(self, request: HttpRequest) -> HttpResponse:
        """Only orders that are still to be packed: what was refunded since stays on the shelf."""
        chosen = chosen_orders(request)
        orders = list(with_goods(chosen.filter(status=OrderStatus.PAID)).order_by("ended_at", "pk"))
        picks = pick_list(orders)
        context = {
            "picks": picks,
            "orders": orders,
            "units": sum(pick.units for pick in picks),
            "left_out": chosen.exclude(status=OrderStatus.PAID).order_by("pk"),
            "made_at": timezone.now(),
            **self.print_context(request),
        }
        return TemplateResponse(request, "admin/orders/fulfilment/pick_list.html", context)

    def packing_slips_view(self, request: HttpRequest) -> HttpResponse:
        """A slip for each order, on a sheet of its own. Those that must not be sent any more say so."""
        orders = with_goods(chosen_orders(request)).order_by("ended_at", "pk")
        slips = [
            {
                "order": order,
                "address": getattr(order, "shipping_address", None),
                "barcode": barcode_svg(order.code),
                "goes_back": order.status in REFUNDS,
                "is_unpaid": order.status not in (*SOLD, *REFUNDS),
            }
            for order in orders
        ]
        context = {"slips": slips, **self.print_context(request)}
        return TemplateResponse(request, "admin/orders/fulfilment/packing_slips.html", context)

    def print_context(self, request: HttpRequest) -> dict[str, Any]:
        more = request.GET.get("more", "")
        return {"back_url": reverse("admin:orders_ordertopack_changelist"), "more": more if more.isdecimal() else ""}


def chosen_orders(request: HttpRequest) -> QuerySet[Order]:
    """At most LISTED_MAX orders, named in the address."""
    if not may_see_orders(request):
        raise PermissionDenied
    texts = request.GET.get("orders", "").split(",")[:LISTED_MAX]
    # An id has at most 19 digits.
    pks = [int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 19]
    return Order.objects.filter(pk__in=pks)


def goods_of(order: Order) -> SafeString:
    left = [(line.units_left, line.title, line.sku) for line in order.lines.all() if line.units_left]
    if not left:
        return format_html("{}", _("Nothing: all units were refunded."))
    lines = format_html_join("", '<li><b>{} ×</b> {} <span class="sku">{}</span></li>', left)
    return format_html("<ul>{}</ul>", lines)


@dataclass(slots=True)
class Pick:
    """`orders` are those that want the variant, each with its units."""

    variant: Variant
    name: str
    units: int = 0
    orders: list[tuple[Order, int]] = field(default_factory=list)

    @property
    def options(self) -> list[dict[str, str]]:
        return options_of(self.variant.product.option_names, self.variant.options)

    @property
    def picture(self) -> Picture | None:
        return picture_of_variant(self.variant)


def with_goods(orders: QuerySet[Order]) -> QuerySet[Order]:
    """The orders with all that is packed: five queries for any number of orders."""
    lines = with_refunded_units(OrderLine.objects.select_related("variant__product"))
    return orders.select_related("buyer", "shipping_address").prefetch_related(
        Prefetch("lines", lines.prefetch_related("variant__product__pictures"))
    )


def pick_list(orders: Iterable[Order]) -> list[Pick]:
    """By SKU, without units that were refunded. The SKU is today's, which is on the shelf."""
    picks: dict[int, Pick] = {}
    for order in orders:
        for line in order.lines.all():
            if line.units_left:
                pick = picks.setdefault(line.variant_id, Pick(line.variant, line.product.name))
                pick.units += line.units_left
                pick.orders.append((order, line.units_left))
    return sorted(picks.values(), key=lambda pick: (pick.variant.sku, pick.variant.pk))
