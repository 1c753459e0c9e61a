"""Which names of the shipping methods have a column for each language. django-modeltranslation imports this module.

The history is set up here too, because it has the same columns.
"""

from modeltranslation.translator import TranslationOptions, register
from simple_history import register as keep_history

from orders.models import ShippingMethod, ShippingPrice


@register(ShippingMethod)
class ShippingMethodTranslation(TranslationOptions):
    fields = ("name",)
    required_languages = ("en",)


keep_history(ShippingMethod, excluded_fields=["name"])
keep_history(ShippingPrice)
