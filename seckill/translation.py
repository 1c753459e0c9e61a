"""Which texts of a sale have a column for each language. django-modeltranslation imports this module.

The history of drafts is set up here too, because it has the same columns. A published sale has its journal.
"""

from modeltranslation.translator import TranslationOptions, register
from simple_history import register as keep_history

from seckill.models import Sale, SaleItem


@register(Sale)
class SaleTranslation(TranslationOptions):
    fields = ("name",)
    required_languages = ("en",)


keep_history(Sale, excluded_fields=["name"])
keep_history(
    SaleItem,
    excluded_fields=[
        *("taken", "announced_at", "archived_at", "from_stock", "incarnation"),
        *("returned", "paused", "line_ended_at"),
    ],
)
