"""The form beside a list of products: prices, only products in stock, an order. The choice is in the address."""

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from shop.catalogue.listing import Ordering, ProductFilter
from shop.prices.price_field import DIGITS_MAX, minor_of

ORDERINGS = {
    Ordering.NEWEST: gettext_lazy("Newest"),
    Ordering.CHEAPEST: gettext_lazy("Price: low to high"),
    Ordering.DEAREST: gettext_lazy("Price: high to low"),
    Ordering.NAME: gettext_lazy("Name"),
}


class AmountField(forms.DecimalField):
    """An amount from zero in settings.CURRENCY; its clean value is minor units."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, min_value=0, max_digits=DIGITS_MAX, **kwargs)

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return {"inputmode": "decimal", "autocomplete": "off"}

    def clean(self, value: Any) -> int | None:
        amount: Decimal | None = super().clean(value)
        return None if amount is None else minor_of(amount)


class FilterForm(forms.Form):
    """A filter that cannot be read is left out, and its field says why."""

    min_price = AmountField(label=gettext_lazy("Price from"), widget=forms.TextInput)
    max_price = AmountField(label=gettext_lazy("to"), widget=forms.TextInput)
    available = forms.BooleanField(label=gettext_lazy("Only what is in stock"), required=False)
    sort = forms.ChoiceField(label=gettext_lazy("Sort by"), required=False)

    def __init__(self, data: Any, *, typed: str | None) -> None:
        super().__init__(data)
        orderings: list[tuple[str, Any]] = [(word.value, text) for word, text in ORDERINGS.items()]
        if typed is not None:
            orderings.insert(0, (Ordering.RELEVANCE.value, _("Relevance")))
        self.fields["sort"].choices = orderings  # type: ignore[attr-defined]
        self.typed = typed

    def product_filter(self, *, category_ids: list[int] | None) -> ProductFilter:
        self.is_valid()
        chosen = self.cleaned_data
        return ProductFilter(
            typed=self.typed,
            category_ids=category_ids,
            min_price_minor=chosen.get("min_price"),
            max_price_minor=chosen.get("max_price"),
            only_available=bool(chosen.get("available")),
            ordering=Ordering(chosen["sort"]) if chosen.get("sort") else None,
        )

    @property
    def is_used(self) -> bool:
        """Whether the list shows less than everything."""
        return any(self.data.get(name) for name in ("min_price", "max_price", "available"))
