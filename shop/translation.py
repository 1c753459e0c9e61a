"""Which names and texts of the catalogue have a column for each language. django-modeltranslation imports this module.

A shop adds a language in SHOP_LANGUAGES and calls `manage.py sync_translation_fields`; no model is edited.
"""

from modeltranslation.translator import TranslationOptions, register

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
