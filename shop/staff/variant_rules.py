"""Rules for variants, the same in the forms and in imported tables. Each refusal is a sentence for staff."""

from collections.abc import Collection, Mapping
from typing import Any

from django.conf import settings
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from shop.languages.columns import column_in, in_default_language
from shop.models import Product, Variant
from shop.models.catalogue import split_options
from shop.prices.price_field import price_text

SAME_OPTIONS = _("Another variant has the same options.")


def price_refusal(price_minor: int, *, variant: Variant) -> str | None:
    """A price must not go below that of a published sale that is not over."""
    for item in items_dearer_than(price_minor, variant=variant):
        if item.sale.is_published:
            return _(
                "The published sale “%(sale)s” sells this product for %(price)s. The ordinary price must not be lower."
            ) % {"sale": item.sale, "price": price_text(item.price_minor)}
    return None


def items_dearer_than(price_minor: int, *, variant: Variant) -> "list[Any]":
    """The variant's sale items that cost more, in sales that are not over."""
    if variant.pk is None:
        return []
    dearer = variant.sale_items.filter(price_minor__gt=price_minor, sale__closes_at__gt=timezone.now())
    return list(dearer.select_related("sale").order_by("sale__opens_at"))


def lowest_prices(variant_ids: Collection[int]) -> dict[int, int]:
    """The same rule for many: below which price a variant must not go, by its id. Others may have any price."""
    sold = Variant.objects.filter(
        pk__in=variant_ids,
        sale_items__sale__published_at__isnull=False,
        sale_items__sale__closes_at__gt=timezone.now(),
    )
    found = sold.order_by().values("pk").annotate(lowest=Max("sale_items__price_minor"))
    return dict(found.values_list("pk", "lowest"))


def option_refusals(product: Product, texts: Mapping[str, str]) -> dict[str, str]:
    """As many values as the product has options. `texts` and the refusals are by column, `options_en`.

    A language may be left out: readers see the default one.
    """
    default_names = split_options(getattr(product, in_default_language("option_names")))
    refusals = {}
    for code, _name in settings.LANGUAGES:
        column = column_in(code, "options")
        names = split_options(getattr(product, column_in(code, "option_names"))) or default_names
        values = split_options(texts.get(column))
        if len(values) != len(names) and (values or column == in_default_language("options")):
            refusals[column] = wrong_number(len(names))
    return refusals


def option_key(text: str | None) -> tuple[str, ...]:
    """Equal for options that a buyer could not tell apart."""
    return tuple(value.casefold() for value in split_options(text))


def wrong_number(count: int) -> str:
    if not count:
        return gettext("This product has no options. Name them in the field “options” first, or leave this empty.")
    return ngettext(
        "This product has %(count)d option. Enter one value.",
        "This product has %(count)d options. Enter a value for each, with “/” between them.",
        count,
    ) % {"count": count}


def reason_to_keep(variant: Variant) -> str | None:
    """Why the variant cannot be deleted; None where it can."""
    names = {"product": variant, "sku": variant.sku}
    if variant.order_lines.exists():
        text = _("%(sku)s, “%(product)s”, has orders, so it cannot be deleted. Uncheck “can be bought” instead.")
        return text % names
    if variant.sale_items.exists():
        return _("%(sku)s, “%(product)s”, is in a sale, so it cannot be deleted.") % names
    if variant.held:
        return _("Checkouts hold units of %(sku)s, “%(product)s”, so it cannot be deleted now.") % names
    if variant.stock_changes.exists():
        text = _(
            "%(sku)s, “%(product)s”, has a journal of its stock, so it cannot be deleted. "
            "Uncheck “can be bought” instead."
        )
        return text % names
    return None
