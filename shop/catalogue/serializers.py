"""The JSON of the catalogue, and the parameters of its lists."""

from decimal import Decimal
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from shop.catalogue.linked_data import whole_address
from shop.catalogue.listing import Ordering
from shop.catalogue.options import OptionSerializer, options_of
from shop.http.list_pages import PageParameters
from shop.http.serializers import AmountField, AmountText, CurrencyText
from shop.models import Category, Picture, Product, Variant
from shop.prices.money import to_minor, to_text
from shop.prices.price_field import too_many_decimals
from shop.search.query import QUERY_CHARACTERS_MAX


class AmountParameter(AmountField):
    """An amount in the shop's currency; minor units inside."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        text = super().run_validation(data)
        try:
            return to_minor(amount=Decimal(text), currency=settings.CURRENCY)
        except ValueError:
            raise serializers.ValidationError(too_many_decimals(settings.CURRENCY), "max_decimal_places") from None


class ProductListParameters(PageParameters):
    search = serializers.CharField(
        max_length=QUERY_CHARACTERS_MAX, required=False, help_text="Words in any language of the shop, or an SKU."
    )
    category = serializers.SlugField(required=False, help_text="A category's slug; those below it count too.")
    min_price = AmountParameter(required=False, help_text="Some variant costs at least this.")
    max_price = AmountParameter(required=False, help_text="Some variant costs at most this.")
    ordering = serializers.ChoiceField(
        [word.value for word in Ordering],
        required=False,
        help_text="By default `relevance` in a search, else `newest`. Without a search, `relevance` is `newest`.",
    )


class CategorySerializer(serializers.ModelSerializer[Category]):
    name = serializers.CharField(source="__str__")
    parent = serializers.SerializerMethodField(  # type: ignore[assignment]
        help_text="The slug of the category above; null at the top."
    )

    class Meta:
        model = Category
        fields = ("slug", "name", "parent")

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_parent(self, category: Category) -> str | None:
        return category.parent.slug if category.parent else None


class PictureSerializer(serializers.ModelSerializer[Picture]):
    url = serializers.SerializerMethodField()
    alt = serializers.SerializerMethodField(help_text="What is to be seen, for people who cannot see it.")

    class Meta:
        model = Picture
        fields = ("url", "alt")

    def get_url(self, picture: Picture) -> str:
        return whole_address(picture.large.url)

    def get_alt(self, picture: Picture) -> str:
        return picture.alt or str(self.context["product"])


class VariantSerializer(serializers.ModelSerializer[Variant]):
    options = serializers.SerializerMethodField()
    price = serializers.SerializerMethodField()
    currency = serializers.SerializerMethodField()
    available = serializers.IntegerField(help_text="Units in stock.")

    class Meta:
        model = Variant
        fields = ("sku", "options", "price", "currency", "available")
        read_only_fields = fields

    @extend_schema_field(OptionSerializer(many=True))
    def get_options(self, variant: Variant) -> list[dict[str, str]]:
        return options_of(self.context["product"].option_names, variant.options)

    @extend_schema_field(AmountText())
    def get_price(self, variant: Variant) -> str:
        return to_text(minor=variant.price_minor, currency=settings.CURRENCY)

    @extend_schema_field(CurrencyText())
    def get_currency(self, variant: Variant) -> str:
        return settings.CURRENCY


class ProductSerializer(serializers.ModelSerializer[Product]):
    name = serializers.CharField(source="__str__")
    description = serializers.SerializerMethodField()
    category = serializers.SerializerMethodField(help_text="The category's slug.")
    images = serializers.SerializerMethodField()
    variants = serializers.SerializerMethodField()

    class Meta:
        model = Product
        fields = ("slug", "name", "description", "category", "images", "variants")
        read_only_fields = fields

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._of_parts: dict[type, serializers.ModelSerializer[Any]] = {}
        self._of_product: dict[str, Any] = {}

    def get_description(self, product: Product) -> str:
        return product.description or ""

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_category(self, product: Product) -> str | None:
        return product.category.slug if product.category else None

    @extend_schema_field(PictureSerializer(many=True))
    def get_images(self, product: Product) -> Any:
        return self.parts_of(product, product.pictures.all(), PictureSerializer)

    @extend_schema_field(VariantSerializer(many=True))
    def get_variants(self, product: Product) -> Any:
        return self.parts_of(product, product.variants.all(), VariantSerializer)

    def parts_of(self, product: Product, parts: Any, kind: type[serializers.ModelSerializer[Any]]) -> list[Any]:
        """One serializer for the parts of all products: making it takes as long as the rest of a list."""
        if kind not in self._of_parts:
            self._of_parts[kind] = kind(context=self._of_product)
        self._of_product["product"] = product
        return [self._of_parts[kind].to_representation(part) for part in parts]
