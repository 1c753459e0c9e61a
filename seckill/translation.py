"""Which texts of a sale have a column for each language. django-modeltranslation imports this module."""

from modeltranslation.translator import TranslationOptions, register

from seckill.models import Sale


@register(Sale)
class SaleTranslation(TranslationOptions):
    fields = ("name",)
    required_languages = ("en",)
