"""The tables of products and of their variants. A row is found by its slug or SKU, and made if there is none.

The lines of a table are checked without a lock, and written together at its end: checkouts that want a variant, and
colleagues who save a product, wait for a few statements, and not for five thousand lines. Of a row that is there, only
the columns of the table are written: a colleague may save others in the meantime.
"""

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext_lazy as _
from import_export.fields import Field
from import_export.widgets import ForeignKeyWidget, IntegerWidget, Widget
from simple_history.utils import bulk_create_with_history, bulk_update_with_history

from shop.languages.columns import in_all_languages, in_default_language
from shop.models import Category, Product, TaxRate, Variant
from shop.models.search_entry import lock_entries, write_entries
from shop.prices.price_field import PriceField
from shop.staff.stock_tables import filled, number_in
from shop.staff.table_pages import Table, WithTables
from shop.staff.variant_rules import SAME_OPTIONS, lowest_prices, option_key, option_refusals, price_refusal
from shop.stock.movements import ROWS_MAX, lock

if TYPE_CHECKING:

    class Cell:
        """django-import-export has no types."""

        def clean(self, value: Any, row: Any = None, **options: Any) -> Any: ...
else:
    Cell = Widget


class PriceCell(Cell):
    """A decimal amount; a spreadsheet may hand it over as a number."""

    def clean(self, value: Any, row: Any = None, **options: Any) -> Any:
        text = "" if value is None else str(value)
        if "," in text:
            # 1,234 is a thousand times 1.234: which of them is meant is not guessed.
            refusal = _("“%(value)s”: write prices with a point and without a comma, such as 1234.50.")
            raise ValueError(refusal % {"value": text})
        try:
            return PriceField().clean(text)
        except ValidationError as refusal:
            # The library writes the messages of a ValueError at the field, and goes on to the next one.
            raise ValueError(" ".join(refusal.messages)) from None

    def render(self, value: Any, obj: Any = None, **options: Any) -> str:
        return "" if value is None else str(PriceField().prepare_value(value))


class NumberCell(IntegerWidget):  # type: ignore[misc]
    """A whole number; the library's own messages are Python's, and it takes 1.9 for 1."""

    def __init__(self, column: str) -> None:
        super().__init__()
        self.column = column

    def clean(self, value: Any, row: Any = None, **options: Any) -> int | None:
        return number_in(row, self.column) if filled(row, self.column) else None


class ExistingCell(ForeignKeyWidget):  # type: ignore[misc]
    """A row that must be there already; the refusal says which one is not."""

    def clean(self, value: Any, row: Any = None, **options: Any) -> Any:
        try:
            return super().clean(value, row=row, **options)
        except self.model.DoesNotExist:
            raise ValueError(
                _("There is no %(what)s “%(value)s”.") % {"what": self.model._meta.verbose_name, "value": value}
            ) from None
        except self.model.MultipleObjectsReturned:
            raise ValueError(
                _("“%(value)s” is the name of several %(what)s.")
                % {"what": self.model._meta.verbose_name_plural, "value": value}
            ) from None


class YesOrNo(Cell):
    """An unknown word is an error: read as "no", it would take the product out of the shop."""

    WORDS = {"1": True, "true": True, "yes": True, "是": True, "0": False, "false": False, "no": False, "否": False}

    def clean(self, value: Any, row: Any = None, **options: Any) -> bool | None:
        text = "" if value is None else str(value).strip().lower().removesuffix(".0")
        if not text:
            return None
        if text not in self.WORDS:
            raise ValueError(_("“%(value)s” is neither yes (1) nor no (0).") % {"value": value})
        return self.WORDS[text]

    def render(self, value: Any, obj: Any = None, **options: Any) -> str:
        return "1" if value else "0"


class OncePerRow(Table):
    """The second row with the same slug or SKU would silently overwrite the first.

    `columns` are the fields of the model that the table has a column for, without its key.
    """

    key_column: str

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.changed: list[Any] = []

    def write(self) -> None:
        """Write the `columns` of all that are `changed`."""
        raise NotImplementedError

    def save_instance(self, instance: Any, is_create: bool, row: Any, **options: Any) -> None:
        """Later, with all the others; a preview writes nothing."""
        self.changed.append(instance)

    def after_import(self, dataset: Any, result: Any, **options: Any) -> None:
        # Where a line is refused meanwhile, this is taken back with all the others.
        if not options.get("dry_run"):
            self.write()

    def before_import(self, dataset: Any, **options: Any) -> None:
        self.lines: dict[str, int] = {}
        named = set(dataset.headers or []) - {self.key_column}
        self.columns = [field.attribute for field in self.get_import_fields() if field.column_name in named]

    def before_import_row(self, row: Any, **options: Any) -> None:
        key, line = str(row.get(self.key_column) or "").strip(), options["row_number"]
        first = self.lines.setdefault(key, line)
        if key and first != line:
            text = _("“%(key)s” is in line %(line)d already.") % {"key": key, "line": first}
            raise ValidationError({self.key_column: text})


class ProductTable(OncePerRow):
    key_column = "slug"
    is_active = Field("is_active", "is_active", YesOrNo())
    category = Field("category", "category", ExistingCell(Category, "slug"))
    tax_rate = Field("tax_rate", "tax_rate", ExistingCell(TaxRate, in_default_language("name")))

    class Meta:
        model = Product
        name = _("products")
        import_id_fields = ["slug"]
        fields = [
            "slug",
            *in_all_languages("name", "description", "option_names"),
            "category",
            "search_words",
            "tax_rate",
            "is_active",
        ]
        import_order = export_order = fields
        clean_model_instances = True
        skip_unchanged = True
        use_transactions = True

    def write(self) -> None:
        write_products(self.changed, columns=self.columns)

    def export(self, queryset: Any = None, **options: Any) -> Any:
        products = Product.objects.all() if queryset is None else queryset
        return super().export(products.select_related("category", "tax_rate").prefetch_related(None), **options)


class VariantTable(OncePerRow):
    key_column = "sku"
    is_active = Field("is_active", "is_active", YesOrNo())
    product = Field("product", "product", ExistingCell(Product, "slug"))
    price = Field("price_minor", "price", PriceCell())
    weight_grams = Field("weight_grams", "weight_grams", NumberCell("weight_grams"))
    position = Field("position", "position", NumberCell("position"))
    low_stock_at = Field("low_stock_at", "low_stock_at", NumberCell("low_stock_at"))

    class Meta:
        model = Variant
        name = _("variants")
        import_id_fields = ["sku"]
        fields = [
            "sku",
            "product",
            *in_all_languages("options"),
            "price",
            "weight_grams",
            "position",
            "is_active",
            "low_stock_at",
        ]
        import_order = export_order = fields
        clean_model_instances = True
        skip_unchanged = True
        use_transactions = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Of each product in the table, the options of its variants by SKU, with the lines that were read before.
        self.options_of: dict[int, dict[str, tuple[str, ...]]] = {}

    def validate_instance(self, instance: Any, errors: Any = None, validate_unique: bool = True) -> None:
        try:
            super().validate_instance(instance, errors, validate_unique)
        except ValidationError as error:
            # Under the name of the column that people see.
            named = {"price" if name == "price_minor" else name: texts for name, texts in error.message_dict.items()}
            raise ValidationError(named) from None
        refusals: dict[str, Any] = {}
        if refusal := price_refusal(instance.price_minor, variant=instance):
            refusals["price"] = refusal
        texts = {column: getattr(instance, column) or "" for column in in_all_languages("options")}
        refusals |= option_refusals(instance.product, texts)
        default = in_default_language("options")
        key, siblings = option_key(texts[default]), self.siblings_of(instance.product)
        if key in {options for sku, options in siblings.items() if sku != instance.sku}:
            refusals[default] = SAME_OPTIONS
        if refusals:
            raise ValidationError(refusals)
        siblings[instance.sku] = key

    def siblings_of(self, product: Product) -> dict[str, tuple[str, ...]]:
        if product.pk not in self.options_of:
            rows = Variant.objects.filter(product=product).values_list("sku", in_default_language("options"))
            self.options_of[product.pk] = {sku: option_key(text) for sku, text in rows}
        return self.options_of[product.pk]

    def write(self) -> None:
        write_variants(self.changed, columns=self.columns)

    def export(self, queryset: Any = None, **options: Any) -> Any:
        """The list from which this is called has products."""
        if queryset is None:
            variants = Variant.objects.all()
        else:
            variants = Variant.objects.filter(product__in=queryset.values("pk"))
        return super().export(variants.select_related("product").order_by("product", "position", "pk"), **options)


def copy_columns(columns: Collection[str], *, source: Product | Variant, target: Product | Variant) -> None:
    for column in columns:
        setattr(target, column, getattr(source, column))


def write_products(products: list[Product], *, columns: Collection[str]) -> None:
    """Write these columns of all of them, and new ones whole. Raises Product.DoesNotExist where one was deleted."""
    wanted = {product.pk: product for product in products if product.pk}
    new = [product for product in products if not product.pk]
    with transaction.atomic():
        known = list(Product.objects.select_for_update(no_key=True).filter(pk__in=wanted).order_by("pk"))
        if len(known) != len(wanted):
            raise Product.DoesNotExist
        for product in known:
            copy_columns(columns, source=wanted[product.pk], target=product)
        if known:
            bulk_update_with_history(known, Product, columns, batch_size=ROWS_MAX)
        if new:
            bulk_create_with_history(new, Product, batch_size=ROWS_MAX)
        write_entries(Product.objects.filter(pk__in=[product.pk for product in [*known, *new]]))


def write_variants(variants: list[Variant], *, columns: Collection[str]) -> None:
    """Write these columns of all of them, and new ones whole.

    Raises ValidationError where, since the lines were checked, a sale was published that is dearer, or a variant saved
    that has the same options.
    """
    wanted = {variant.pk: variant for variant in variants if variant.pk}
    new = [variant for variant in variants if not variant.pk]
    with transaction.atomic():
        # A variant may move to another product, whose entry changes as well as that of its former one.
        product_ids = set(Variant.objects.filter(pk__in=wanted).values_list("product_id", flat=True))
        product_ids |= {variant.product_id for variant in variants}
        # The forms of the products lock them too, before they check the options.
        list(Product.objects.select_for_update(no_key=True).filter(pk__in=product_ids).order_by("pk").values_list("pk"))
        lock_entries(product_ids)
        known = lock(wanted)
        product_ids |= {variant.product_id for variant in known}
        lowest = lowest_prices(wanted)
        for variant in known:
            copy_columns(columns, source=wanted[variant.pk], target=variant)
            if variant.price_minor < lowest.get(variant.pk, 0):
                raise ValidationError(price_refusal(variant.price_minor, variant=variant) or "")
        if known:
            bulk_update_with_history(known, Variant, columns, batch_size=ROWS_MAX)
        if new:
            bulk_create_with_history(new, Variant, batch_size=ROWS_MAX)
        if has_same_options([*known, *new]):
            raise ValidationError(SAME_OPTIONS)
        write_entries(Product.objects.filter(pk__in=product_ids))


def has_same_options(variants: Collection[Variant]) -> bool:
    """Whether one of these has the options of another variant of its product."""
    default = in_default_language("options")
    rows = Variant.objects.filter(product__in={variant.product_id for variant in variants})
    found = Counter((product_id, option_key(text)) for product_id, text in rows.values_list("product_id", default))
    return any(found[variant.product_id, option_key(getattr(variant, default))] > 1 for variant in variants)


class WithProductTables(WithTables):
    resource_classes = [ProductTable, VariantTable]
    import_permissions = ("shop.add_product", "shop.change_product")
