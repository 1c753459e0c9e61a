"""Shipping methods in the admin: where to, at what price, and examples of what a parcel costs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelect2MultipleWidget

from orders.models import ShippingMethod, ShippingPrice
from orders.shipping.shipping_prices import active_methods, price_of
from shop.addresses.countries import country_choices, country_name
from shop.languages.columns import in_all_languages
from shop.prices.money import decimals_of
from shop.prices.price_field import PriceField, price_text
from shop.staff.admin_base import StaffAdmin, TabularInline
from shop.staff.history_pages import WithHistory

if TYPE_CHECKING:
    # django-unfold has no types; its formset extends this one.
    BaseInlineFormSet = forms.BaseInlineFormSet[Any, Any, Any]
else:
    from unfold.forms import PaginationInlineFormSet as BaseInlineFormSet

EXAMPLE_GRAMS = (100, 500, 1_000, 2_000, 5_000, 10_000, 30_000)
# In whole units of the currency.
EXAMPLE_TOTALS = (10, 50, 100, 200, 500, 1_000)
# In the list; a method may go to two hundred.
COUNTRIES_SHOWN = 4
# No parcel is heavier than this; PostgreSQL's column could hold more.
GRAMS_MAX = 10_000_000


@dataclass(frozen=True, slots=True)
class Example:
    parcel: str
    price: str


class ShippingMethodForm(forms.ModelForm):  # type: ignore[type-arg]
    free_from_minor = PriceField(
        label=gettext_lazy("Free from"),
        required=False,
        help_text=gettext_lazy("Goods of this total or more are sent free of charge. Empty means never."),
    )
    countries = forms.MultipleChoiceField(
        label=gettext_lazy("Countries"),
        required=False,
        choices=country_choices,
        widget=UnfoldAdminSelect2MultipleWidget,
        help_text=gettext_lazy("Empty means all countries."),
    )

    class Meta:
        model = ShippingMethod
        fields = "__all__"  # noqa: DJ007 the admin's fieldsets choose


class ShippingPriceForm(forms.ModelForm):  # type: ignore[type-arg]
    """The bound is a weight or an amount, as the method says."""

    price_minor = PriceField(label=gettext_lazy("Price"), free=True)

    class Meta:
        model = ShippingPrice
        fields = ["up_to", "price_minor"]

    def __init__(self, *args: Any, basis: str = ShippingMethod.Basis.WEIGHT, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        no_limit = {"placeholder": str(_("no limit"))}
        if basis == ShippingMethod.Basis.TOTAL:
            self.fields["up_to"] = PriceField(label=gettext_lazy("Up to"), required=False)
            self.fields["up_to"].widget.attrs.update(no_limit)
        else:
            self.fields["up_to"] = forms.IntegerField(
                label=gettext_lazy("Up to"),
                required=False,
                min_value=1,
                max_value=GRAMS_MAX,
                widget=UnfoldAdminIntegerFieldWidget(attrs=no_limit),
            )


class ShippingPriceFormSet(BaseInlineFormSet):
    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        """The basis as posted: the admin makes these forms before it has read the method's own."""
        basis = self.data.get("basis", self.instance.basis) if self.is_bound else self.instance.basis
        return {**super().get_form_kwargs(index), "basis": basis}

    def clean(self) -> None:
        """Refuse a bound that another price has, at its field."""
        seen = set()
        for form in self.forms:
            row = getattr(form, "cleaned_data", {})
            if not row or row.get("DELETE") or "up_to" not in row:
                continue
            bound = row["up_to"]
            if bound in seen:
                form.add_error("up_to", _("There is a price for this already."))
            seen.add(bound)
        super().clean()


class ShippingPriceInline(TabularInline):
    """Staff who may change the method may change its prices."""

    model = ShippingPrice
    form = ShippingPriceForm
    formset = ShippingPriceFormSet
    verbose_name_plural = gettext_lazy("prices: grams, or the total of the goods")
    hide_title = True

    def get_extra(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> int:
        return 0 if obj else 1

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return ["up_to", "price_minor"] if self.has_change_permission(request, obj) else ["bound", "price"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return [] if self.has_change_permission(request, obj) else ["bound", "price"]

    @admin.display(description=gettext_lazy("Up to"))
    def bound(self, price: ShippingPrice) -> str:
        return bound_text(price)

    @admin.display(description=gettext_lazy("Price"))
    def price(self, price: ShippingPrice) -> str:
        return price_text(price.price_minor)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("orders.view_shippingmethod") or self.has_change_permission(request, obj)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("orders.change_shippingmethod" if obj else "orders.add_shippingmethod")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request, obj)


@admin.register(ShippingMethod)
class ShippingMethodAdmin(WithHistory, StaffAdmin):
    form = ShippingMethodForm
    list_display = ["title", "goes_to", "basis", "costs", "is_active"]
    list_select_related = ["tax_rate"]
    inlines = [ShippingPriceInline]
    history_parts = [(ShippingPrice, "method")]
    change_form_outer_after_template = "admin/orders/shippingmethod/examples.html"

    def get_fieldsets(self, request: HttpRequest, obj: ShippingMethod | None = None) -> list[Any]:
        return [
            (None, {"fields": [*in_all_languages("name"), "code", "is_active", "position"]}),
            (_("Where to"), {"fields": ["countries"]}),
            (_("What it costs"), {"fields": ["basis", "free_from_minor", "tax_rate"]}),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ShippingMethod]:
        methods: QuerySet[ShippingMethod] = super().get_queryset(request)
        return methods.prefetch_related("prices")

    @admin.display(description=gettext_lazy("name"), ordering="name")
    def title(self, method: ShippingMethod) -> str:
        return str(method)

    @admin.display(description=gettext_lazy("countries"))
    def goes_to(self, method: ShippingMethod) -> str:
        if not method.countries:
            return _("all countries")
        names = ", ".join(country_name(code) for code in method.countries[:COUNTRIES_SHOWN])
        return names if len(method.countries) <= COUNTRIES_SHOWN else f"{names}, …"

    @admin.display(description=gettext_lazy("Price"))
    def costs(self, method: ShippingMethod) -> str:
        prices = [price.price_minor for price in method.prices.all()]
        if not prices:
            return _("no price")
        lowest, highest = price_text(min(prices)), price_text(max(prices))
        return lowest if lowest == highest else f"{lowest} – {highest}"

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        method = form.instance
        free_from_a_total = method.basis == ShippingMethod.Basis.TOTAL and method.free_from_minor is not None
        if method.is_active and not free_from_a_total and not method.prices.exists():
            text = _("“%(method)s” has no price, so buyers are not offered it.") % {"method": method}
            self.message_user(request, text, messages.WARNING)
        self.warn_if_none_is_offered(request)

    def delete_model(self, request: HttpRequest, obj: ShippingMethod) -> None:
        super().delete_model(request, obj)
        self.warn_if_none_is_offered(request)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ShippingMethod]) -> None:
        super().delete_queryset(request, queryset)
        self.warn_if_none_is_offered(request)

    def warn_if_none_is_offered(self, request: HttpRequest) -> None:
        """The last one may have been switched off for a while, by somebody who does not know what follows."""
        if not active_methods().exists():
            text = _("No shipping method is offered now, so all orders are sent free of charge, to every country.")
            self.message_user(request, text, messages.WARNING)

    def page_context(self, request: HttpRequest, obj: ShippingMethod | None) -> dict[str, Any]:
        context = super().page_context(request, obj)
        if obj is not None:
            context["examples"] = examples_of(obj)
            context["free_from"] = None if obj.free_from_minor is None else price_text(obj.free_from_minor)
        return context


def examples_of(method: ShippingMethod) -> list[Example]:
    """Examples by the saved prices; by weight, for goods below the total from which sending is free."""
    if method.basis == ShippingMethod.Basis.WEIGHT:
        return [
            Example(weight_text(grams), example_price(method, weight_grams=grams, total_minor=0))
            for grams in EXAMPLE_GRAMS
        ]
    unit = 10 ** decimals_of(settings.CURRENCY)
    totals = [total * unit for total in EXAMPLE_TOTALS]
    return [Example(price_text(total), example_price(method, weight_grams=0, total_minor=total)) for total in totals]


def example_price(method: ShippingMethod, *, weight_grams: int, total_minor: int) -> str:
    """The price by the checkout's own rule."""
    price_minor = price_of(method, weight_grams=weight_grams, total_minor=total_minor)
    return _("not offered") if price_minor is None else price_text(price_minor)


def bound_text(price: ShippingPrice) -> str:
    if price.up_to is None:
        return _("no limit")
    if price.method.basis == ShippingMethod.Basis.WEIGHT:
        return weight_text(price.up_to)
    return price_text(price.up_to)


def weight_text(grams: int) -> str:
    return f"{grams / 1000:g} kg" if grams >= 1000 else f"{grams} g"
