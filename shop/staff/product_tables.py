"""The tables of products and of their variants. A row is found by its slug or SKU, and made if there is none."""

from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from import_export.fields import Field
from import_export.resources import ModelResource
from import_export.widgets import ForeignKeyWidget, Widget

from shop.languages.columns import in_all_languages, in_default_language
from shop.models import Category, Product, TaxRate, Variant
from shop.prices.price_field import PriceField
from shop.staff.table_pages import WithTables
from shop.staff.variant_rules import SAME_OPTIONS, option_key, option_refusals, price_refusal
from shop.stock.movements import lock

if TYPE_CHECKING:

    class Table:
        """django-import-export has no types."""

        def validate_instance(self, instance: Any, errors: Any = None, validate_unique: bool = True) -> None: ...

        def export(self, queryset: Any = None, **options: Any) -> Any: ...

    class Cell:
        def clean(self, value: Any, row: Any = None, **options: Any) -> Any: ...
else:
    Table, Cell = ModelResource, Widget


class PriceCell(Cell):
    """A decimal amount; a spreadsheet may hand it over as a number."""

    def clean(self, value: Any, row: Any = None, **options: Any) -> Any:
        try:
            return PriceField().clean("" if value is None else str(value))
        except ValidationError as refusal:
            # The library writes the messages of a ValueError at the field, and goes on to the next one.
            raise ValueError(" ".join(refusal.messages)) from None

    def render(self, value: Any, obj: Any = None, **options: Any) -> str:
        return "" if value is None else str(PriceField().prepare_value(value))


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


class ProductTable(Table):
    category = Field("category", "category", ExistingCell(Category, "slug"))
    tax_rate = Field("tax_rate", "tax_rate", ExistingCell(TaxRate, in_default_language("name")))

    class Meta:
        model = Product
        name = _("products")
        import_id_fields = ["slug"]
        fields = ["slug", *in_all_languages("name", "description", "option_names"), "category", "tax_rate", "is_active"]
        import_order = export_order = fields
        clean_model_instances = True
        skip_unchanged = True
        use_transactions = True

    def export(self, queryset: Any = None, **options: Any) -> Any:
        products = Product.objects.all() if queryset is None else queryset
        return super().export(products.select_related("category", "tax_rate").prefetch_related(None), **options)


class VariantTable(Table):
    product = Field("product", "product", ExistingCell(Product, "slug"))
    price = Field("price_minor", "price", PriceCell())

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

    def before_import(self, dataset: Any, **options: Any) -> None:
        """Saving a variant writes all its columns, so its units must not move meanwhile."""
        skus = {str(sku) for sku in dataset["sku"]} if "sku" in (dataset.headers or []) else set()
        lock(list(Variant.objects.filter(sku__in=skus).values_list("pk", flat=True)))

    def validate_instance(self, instance: Any, errors: Any = None, validate_unique: bool = True) -> None:
        super().validate_instance(instance, errors, validate_unique)
        refusals: dict[str, Any] = {}
        if refusal := price_refusal(instance.price_minor, variant=instance):
            refusals["price_minor"] = refusal
        texts = {column: getattr(instance, column) or "" for column in in_all_languages("options")}
        refusals |= option_refusals(instance.product, texts)
        default = in_default_language("options")
        others = Variant.objects.filter(product=instance.product).exclude(pk=instance.pk)
        if option_key(texts[default]) in {option_key(text) for text in others.values_list(default, flat=True)}:
            refusals[default] = SAME_OPTIONS
        if refusals:
            raise ValidationError(refusals)

    def export(self, queryset: Any = None, **options: Any) -> Any:
        """The list from which this is called has products."""
        if queryset is None:
            variants = Variant.objects.all()
        else:
            variants = Variant.objects.filter(product__in=queryset.values("pk"))
        return super().export(variants.select_related("product").order_by("product", "position", "pk"), **options)


class WithProductTables(WithTables):
    resource_classes = [ProductTable, VariantTable]
    import_permissions = ("shop.add_product", "shop.change_product")
