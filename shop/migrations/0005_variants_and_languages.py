from django.db import migrations
from django.db.models import F
from django.db.models.functions import NullIf
from django.db.models import Value


def fill(apps, schema_editor):
    """Each product gets one variant with its price and stock; names and texts go to the columns of their languages."""
    Category, Product, Variant, StockChange = (
        apps.get_model("shop", name) for name in ("Category", "Product", "Variant", "StockChange")
    )
    Category.objects.update(name_en=F("name"), name_zh_hans=NullIf("name_zh", Value("")))
    Product.objects.update(
        name_en=F("name"),
        name_zh_hans=NullIf("name_zh", Value("")),
        description_en=F("description"),
        description_zh_hans=NullIf("description_zh", Value("")),
    )
    for product in Product.objects.order_by("pk").iterator(chunk_size=1000):
        variant = Variant.objects.create(
            product=product, sku=f"P{product.pk}", price_minor=product.price_minor, available=product.stock
        )
        if product.stock:
            StockChange.objects.create(
                variant=variant,
                kind="counted",
                units=product.stock,
                available_before=0,
                available_after=product.stock,
                held_before=0,
                held_after=0,
                reason="stock of the product before it had variants",
            )


def empty(apps, schema_editor):
    """Back: the first variant's price and stock, which the product still has; the Chinese texts."""
    Category, Product, Variant = (apps.get_model("shop", name) for name in ("Category", "Product", "Variant"))
    for category in Category.objects.all():
        Category.objects.filter(pk=category.pk).update(
            name=category.name_en or category.name, name_zh=category.name_zh_hans or ""
        )
    for product in Product.objects.order_by("pk").iterator(chunk_size=1000):
        variant = product.variants.order_by("position", "pk").first()
        Product.objects.filter(pk=product.pk).update(
            name=product.name_en or product.name,
            name_zh=product.name_zh_hans or "",
            description=product.description_en or product.description,
            description_zh=product.description_zh_hans or "",
            **({"price_minor": variant.price_minor, "stock": variant.available} if variant else {}),
        )


class Migration(migrations.Migration):

    dependencies = [("shop", "0004_catalogue")]

    operations = [migrations.RunPython(fill, empty)]
