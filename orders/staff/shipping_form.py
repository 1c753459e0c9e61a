"""The forms of a shipping method and of its prices."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelect2MultipleWidget

from orders.models import ShippingMethod, ShippingPrice
from shop.addresses.countries import country_choices
from shop.prices.price_field import PriceField

if TYPE_CHECKING:
    # django-unfold has no types; its formset extends this one.
    BaseInlineFormSet = forms.BaseInlineFormSet[Any, Any, Any]
else:
    from unfold.forms import PaginationInlineFormSet as BaseInlineFormSet

# No parcel is heavier than this; PostgreSQL's column could hold more.
GRAMS_MAX = 10_000_000


class ShippingMethodForm(forms.ModelForm):  # type: ignore[type-arg]
    free_from_minor = PriceField(
        label=_("Free from"),
        required=False,
        help_text=_("Goods of this total or more are sent free of charge. Empty means never."),
    )
    countries = forms.MultipleChoiceField(
        label=_("Countries"),
        required=False,
        choices=country_choices,
        widget=UnfoldAdminSelect2MultipleWidget,
        help_text=_("Empty means all countries."),
    )

    class Meta:
        model = ShippingMethod
        fields = "__all__"  # noqa: DJ007 the admin's fieldsets choose


class ShippingPriceForm(forms.ModelForm):  # type: ignore[type-arg]
    """The bound is a weight or an amount, as the method says."""

    price_minor = PriceField(label=_("Price"), free=True)

    class Meta:
        model = ShippingPrice
        fields = ["up_to", "price_minor"]

    def __init__(self, *args: Any, basis: str = ShippingMethod.Basis.WEIGHT, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        no_limit = {"placeholder": str(_("no limit"))}
        if basis == ShippingMethod.Basis.TOTAL:
            self.fields["up_to"] = PriceField(label=_("Up to"), required=False)
            self.fields["up_to"].widget.attrs.update(no_limit)
        else:
            self.fields["up_to"] = forms.IntegerField(
                label=_("Up to"),
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
        """Each bound once, refused at its field."""
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
