"""The form in which staff edit a variant of a product."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from shop.languages.columns import in_all_languages
from shop.models import Variant
from shop.price_field import PriceField, price_text


class VariantForm(forms.ModelForm):  # type: ignore[type-arg]
    price_minor = PriceField(label=_("Price"))

    class Meta:
        model = Variant
        fields = ["sku", *in_all_languages("options"), "price_minor", "weight_grams", "position", "is_active"]

    def clean_price_minor(self) -> int:
        """Refuse a price below that of a published sale that is not over: that price cannot change any more."""
        price_minor: int = self.cleaned_data["price_minor"]
        for item in items_dearer_than(price_minor, variant=self.instance):
            if item.sale.is_published:
                raise ValidationError(
                    _(
                        "The published sale “%(sale)s” sells this product for %(price)s. The ordinary price must not "
                        "be lower."
                    )
                    % {"sale": item.sale, "price": price_text(item.price_minor)}
                )
        return price_minor


def items_dearer_than(price_minor: int, *, variant: Variant) -> "list[Any]":
    """The variant's sale items that cost more, in sales that are not over."""
    if variant.pk is None:
        return []
    dearer = variant.sale_items.filter(price_minor__gt=price_minor, sale__closes_at__gt=timezone.now())
    return list(dearer.select_related("sale").order_by("sale__opens_at"))
