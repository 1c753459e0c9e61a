"""Which names of the shipping methods have a column for each language. django-modeltranslation imports this module."""

from modeltranslation.translator import TranslationOptions, register

from orders.models import ShippingMethod


@register(ShippingMethod)
class ShippingMethodTranslation(TranslationOptions):
    fields = ("name",)
    required_languages = ("en",)
