"""What staff may say about a sale and its items: the rules of the models, refused at the field that breaks them."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.forms.formsets import DELETION_FIELD_NAME
from django.utils.translation import gettext_lazy as _

from seckill.models import SaleItem
from shop.price_field import PriceField

if TYPE_CHECKING:
    # django-unfold has no types; its formset extends this one.
    BaseInlineFormSet = forms.BaseInlineFormSet[Any, Any, Any]
else:
    from unfold.forms import PaginationInlineFormSet as BaseInlineFormSet


class SaleItemForm(forms.ModelForm):  # type: ignore[type-arg]
    price_minor = PriceField(label=_("Sale price"))

    class Meta:
        model = SaleItem
        fields = ["product", "price_minor", "quantity", "per_buyer_max"]


class SaleItemFormSet(BaseInlineFormSet):
    """The items of one sale, judged by each other; Django hands each the sale with the window that was just typed."""

    def clean(self) -> None:
        """Refuse a product that an earlier row has, at its field; Django would only say so above the rows."""
        products = set()
        for form in self.forms:
            row = getattr(form, "cleaned_data", {})
            product = row.get("product")
            if product is None or row.get(DELETION_FIELD_NAME):
                continue
            if product in products:
                form.add_error("product", _("This product is already in the sale."))
            products.add(product)
        super().clean()
