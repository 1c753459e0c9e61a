"""The form in which staff edit a product."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from shop.models import Product
from shop.price_field import PriceField, price_text


class ProductForm(forms.ModelForm):  # type: ignore[type-arg]
    price_minor = PriceField(label=_("Price"))
    # The form sends the shown number along, because buyers may take from the stock while staff type.
    stock = forms.IntegerField(
        label=_("Ordinary stock"),
        min_value=0,
        max_value=2_147_483_647,
        initial=0,
        show_hidden_initial=True,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("Units for ordinary purchases. The units of a flash sale are set in the sale."),
    )

    class Meta:
        model = Product
        fields = [
            "name",
            "name_zh",
            "slug",
            "category",
            "price_minor",
            "stock",
            "is_active",
            "description",
            "description_zh",
        ]

    def clean_price_minor(self) -> int:
        """Refuse a price below that of a published sale that is not over: that price cannot change any more."""
        price_minor: int = self.cleaned_data["price_minor"]
        for item in items_dearer_than(price_minor, product=self.instance):
            if item.sale.is_published:
                raise ValidationError(
                    _(
                        "The published sale “%(sale)s” sells this product for %(price)s. The ordinary price must not "
                        "be lower."
                    )
                    % {"sale": item.sale, "price": price_text(item.price_minor)}
                )
        return price_minor

    def clean_stock(self) -> int:
        """Keep what buyers took while the page was open. Refuse a new number if the stock has changed since."""
        typed: int = self.cleaned_data["stock"]
        shown = self.data.get(self.add_initial_prefix("stock"))
        if self.instance.pk is None or shown is None or shown == str(self.instance.stock):
            return typed
        if shown == str(typed):
            return int(self.instance.stock)
        raise ValidationError(
            _("The stock has changed to %(stock)d in the meantime. Reload this page, then set it.")
            % {"stock": self.instance.stock}
        )


def items_dearer_than(price_minor: int, *, product: Product) -> "list[Any]":
    """The product's sale items that cost more, in sales that are not over."""
    if product.pk is None:
        return []
    dearer = product.sale_items.filter(price_minor__gt=price_minor, sale__closes_at__gt=timezone.now())
    return list(dearer.select_related("sale").order_by("sale__opens_at"))
