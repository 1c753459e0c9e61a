"""A product's variants in its form: each row is one thing with a price that buyers can take."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from shop.languages.columns import in_all_languages, in_default_language
from shop.models import Product, Variant
from shop.models.catalogue import split_options
from shop.prices.price_field import PriceField, price_text
from shop.staff.admin_base import TabularInline
from shop.staff.product_permissions import OfProduct
from shop.staff.variant_rules import SAME_OPTIONS, option_key, option_refusals, price_refusal, reason_to_keep
from shop.stock.movements import UNITS_MAX

# The column holds 64 characters; a number may follow.
SKU_BASE_LENGTH_MAX = 56

if TYPE_CHECKING:
    # django-unfold has no types; its formset extends this one.
    BaseInlineFormSet = forms.BaseInlineFormSet[Any, Any, Any]
else:
    from unfold.forms import PaginationInlineFormSet as BaseInlineFormSet


class StockText(forms.Widget):
    """The stock of a saved variant, with a link to the page that changes it. It has no input."""

    def __init__(self, variant: Variant) -> None:
        super().__init__()
        self.variant = variant

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        return stock_text(self.variant)


def stock_text(variant: Variant) -> SafeString:
    url = reverse("admin:shop_variant_change", args=[variant.pk])
    available = _("%(units)d available") % {"units": variant.available}
    others = _("%(held)d held, %(sold)d sold") % {"held": variant.held, "sold": variant.sold}
    return format_html(
        '<a href="{}" class="text-link" title="{}">{}<br>{}</a>', url, _("Change the stock"), available, others
    )


class VariantForm(forms.ModelForm):  # type: ignore[type-arg]
    price_minor = PriceField(label=_("Price"))
    first_units = forms.IntegerField(
        label=_("Stock"),
        required=False,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"min": 0, "placeholder": "0"}),
        validators=[MinValueValidator(0), MaxValueValidator(UNITS_MAX)],
    )

    class Meta:
        model = Variant
        fields = ["sku", *in_all_languages("options"), "price_minor", "weight_grams", "position", "is_active"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "sku" in self.fields:
            self.fields["sku"].required = False
            self.fields["sku"].widget.attrs["placeholder"] = str(_("made for you"))
        if self.instance.pk:
            self.fields["first_units"].widget = StockText(self.instance)
            self.fields["first_units"].disabled = True

    def clean_price_minor(self) -> int:
        """A published sale holds the price up: it cannot change any more."""
        price_minor: int = self.cleaned_data["price_minor"]
        if refusal := price_refusal(price_minor, variant=self.instance):
            raise ValidationError(refusal)
        return price_minor


class VariantFormSet(BaseInlineFormSet):
    """The rules between the rows, and between them and the options of the product. Errors stand at their field."""

    def clean(self) -> None:
        # First: Django would refuse too, and name every row that stands in the way.
        for form in self.forms:
            is_deleted = self._should_delete_form(form) and form.instance.pk  # type: ignore[attr-defined]
            if is_deleted and (reason := reason_to_keep(form.instance)):
                raise ValidationError(reason)
        super().clean()
        seen = self.options_of_others()
        for form in self.forms:
            if self._should_delete_form(form):  # type: ignore[attr-defined]
                continue
            if form.is_valid() and (form.has_changed() or form.instance.pk):
                self.check_options(form, seen)
        self.suggest_skus()

    def options_of_others(self) -> set[tuple[str, ...]]:
        """Those of variants that the page did not show: a colleague, or this form sent before, has added them."""
        shown = [form.instance.pk for form in self.forms if form.instance.pk]
        others = Variant.objects.filter(product=self.instance.pk).exclude(pk__in=shown)
        return {option_key(text) for text in others.values_list(in_default_language("options"), flat=True)}

    def check_options(self, form: Any, seen: set[tuple[str, ...]]) -> None:
        texts = {column: form.cleaned_data.get(column) or "" for column in in_all_languages("options")}
        for column, refusal in option_refusals(self.instance, texts).items():
            form.add_error(column, refusal)
        default = in_default_language("options")
        values = option_key(texts[default])
        if values in seen:
            form.add_error(default, SAME_OPTIONS)
        seen.add(values)

    def suggest_skus(self) -> None:
        """Rows without an SKU get one that is free."""
        taken: set[str] = {form.cleaned_data["sku"] for form in self.forms if cleaned(form).get("sku")}
        for form in self.forms:
            if form.has_changed() and not form.errors and cleaned(form) and not form.cleaned_data.get("sku"):
                form.cleaned_data["sku"] = form.instance.sku = suggested_sku(
                    self.instance, options=form.cleaned_data.get(in_default_language("options")) or "", taken=taken
                )
                taken.add(form.instance.sku)


def cleaned(form: Any) -> dict[str, Any]:
    return getattr(form, "cleaned_data", {})


class VariantInline(OfProduct, TabularInline):
    """Staff who may change the product may change its variants; the stock of new ones can be given here."""

    model = Variant
    form = VariantForm
    formset = VariantFormSet
    ordering_field = "position"
    hide_ordering_field = True
    hide_title = True

    def get_extra(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> int:
        return 0 if obj else 1

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        options = in_all_languages("options")
        if self.has_change_permission(request, obj):
            return ["sku", *options, "price_minor", "weight_grams", "first_units", "is_active", "position"]
        return ["sku", *options, "price", "weight_grams", "stock", "is_active"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return [] if self.has_change_permission(request, obj) else ["price", "stock"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Variant]:
        variants: QuerySet[Variant] = super().get_queryset(request)
        return variants.order_by("position", "pk")

    @admin.display(description=_("Price"))
    def price(self, variant: Variant) -> str:
        return price_text(variant.price_minor)

    @admin.display(description=_("Stock"))
    def stock(self, variant: Variant) -> str:
        return stock_text(variant)


def suggested_sku(product: Product, *, options: str, taken: Collection[str] = ()) -> str:
    """An SKU for a variant without one: "mug" with "Large / Blue" → "MUG-LARGE-BLUE".

    A number follows where another variant or `taken` has it.
    """
    parts = [product.slug, *(slugify(value) for value in split_options(options))]
    base = "-".join(part for part in parts if part).upper()[:SKU_BASE_LENGTH_MAX].strip("-") or "SKU"
    used = {*taken, *Variant.objects.filter(sku__startswith=base).values_list("sku", flat=True)}
    number, sku = 1, base
    while sku in used:
        number += 1
        sku = f"{base}-{number}"
    return sku
