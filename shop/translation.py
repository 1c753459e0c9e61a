"""The texts of the catalogue that have a column for each language. django-modeltranslation imports this module.

A shop adds a language in SHOP_LANGUAGES and calls `manage.py add_languages`; no model is edited. The history of the
models is set up here too, because it has the same columns.
"""

from modeltranslation.translator import TranslationOptions, register
from simple_history import register as keep_history

from shop.models import Category, Picture, Product, TaxRate, Variant


@register(Category)
class CategoryTranslation(TranslationOptions):
    fields = ("name",)
    required_languages = ("en",)


@register(TaxRate)
class TaxRateTranslation(TranslationOptions):
    fields = ("name",)
    required_languages = ("en",)


@register(Product)
class ProductTranslation(TranslationOptions):
    fields = ("name", "description", "option_names")
    required_languages = {"en": ("name",)}


@register(Variant)
class VariantTranslation(TranslationOptions):
    fields = ("options",)


@register(Picture)
class PictureTranslation(TranslationOptions):
    fields = ("alt",)


# Without the columns that follow from others: a text in the default language, and the counters, which have a journal.
keep_history(Category, excluded_fields=["name"])
keep_history(TaxRate, excluded_fields=["name"])
keep_history(Product, excluded_fields=["name", "description", "option_names"])
keep_history(Variant, excluded_fields=["options", "available", "held", "sold"])
