"""The form field of a price: people type a decimal amount, the model stores minor units."""

from collections.abc import Collection
from decimal import Decimal
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import UnfoldAdminTextInputWidget

from shop.prices.money import decimals_of, step_of, to_decimal, to_minor, to_text

# Below 2**53, so exact even where an amount is read as a double (Lua, JavaScript).
DIGITS_MAX = 12


class PriceField(forms.DecimalField):
    """A price above zero in settings.CURRENCY; its clean value and its initial value are minor units.

    With `free`, zero is a price too.
    """

    widget = UnfoldAdminTextInputWidget

    def __init__(self, *, free: bool = False, **kwargs: Any) -> None:
        self.free = free
        super().__init__(max_digits=DIGITS_MAX, **kwargs)

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        # A text input: the decimal point of a number input depends on the language of the browser.
        return {"inputmode": "decimal", "autocomplete": "off"}

    def get_bound_field(self, form: forms.BaseForm, field_name: str) -> forms.BoundField:
        # Set at each rendering, because the widget removes it from its attributes when it renders.
        self.widget.attrs["suffix"] = settings.CURRENCY
        return super().get_bound_field(form, field_name)

    def prepare_value(self, value: Any) -> Any:
        return to_text(minor=value, currency=settings.CURRENCY) if isinstance(value, int) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        if isinstance(initial, int):
            initial = to_decimal(minor=initial, currency=settings.CURRENCY)
        return super().has_changed(initial, data)

    def clean(self, value: Any) -> int | None:
        amount: Decimal | None = super().clean(value)
        if amount is None:
            return None
        if amount < 0 and self.free:
            raise ValidationError(_("The price must not be negative."), code="min_value")
        if amount <= 0 and not self.free:
            raise ValidationError(_("The price must be above zero."), code="min_value")
        minor = minor_of(amount)
        check_step(minor, settings.CURRENCY, providers=settings.PAYMENT_PROVIDERS)
        return minor


def minor_of(amount: Decimal) -> int:
    """A typed amount in settings.CURRENCY as minor units. Raises ValidationError."""
    try:
        return to_minor(amount=amount, currency=settings.CURRENCY)
    except ValueError:
        raise ValidationError(too_many_decimals(settings.CURRENCY), code="max_decimal_places") from None


def check_step(minor: int, currency: str, *, providers: Collection[str]) -> None:
    """Raises ValidationError if one of these providers cannot take the amount, or pay it back."""
    if minor % step_of(currency, providers=providers):
        refusal = _("Stripe takes amounts in %(currency)s only with 0 as their last decimal.")
        raise ValidationError(refusal % {"currency": currency}, code="max_decimal_places")


def too_many_decimals(currency: str) -> str:
    decimals = decimals_of(currency)
    if not decimals:
        return _("A price in %(currency)s has no decimals.") % {"currency": currency}
    return ngettext(
        "A price in %(currency)s has at most %(count)d decimal.",
        "A price in %(currency)s has at most %(count)d decimals.",
        decimals,
    ) % {"currency": currency, "count": decimals}


def price_text(minor: int) -> str:
    """A price for people to read: "19.00 CNY"."""
    return f"{to_text(minor=minor, currency=settings.CURRENCY)} {settings.CURRENCY}"
