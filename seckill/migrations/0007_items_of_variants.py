from django.db import migrations
from django.db.models import F, OuterRef, Subquery, Value
from django.db.models.functions import NullIf


def fill(apps, schema_editor):
    """Each item is of its product's only variant; the Chinese names go to the column of their language."""
    Sale, SaleItem = apps.get_model("seckill", "Sale"), apps.get_model("seckill", "SaleItem")
    Variant = apps.get_model("shop", "Variant")
    Sale.objects.update(name_en=F("name"), name_zh_hans=NullIf("name_zh", Value("")))
    first = Variant.objects.filter(product=OuterRef("product")).order_by("position", "pk").values("pk")[:1]
    SaleItem.objects.update(variant=Subquery(first))


def empty(apps, schema_editor):
    Sale, SaleItem = apps.get_model("seckill", "Sale"), apps.get_model("seckill", "SaleItem")
    Variant = apps.get_model("shop", "Variant")
    for sale in Sale.objects.all():
        Sale.objects.filter(pk=sale.pk).update(name=sale.name_en or sale.name, name_zh=sale.name_zh_hans or "")
    of_variant = Variant.objects.filter(pk=OuterRef("variant")).values("product")[:1]
    SaleItem.objects.update(product=Subquery(of_variant))


class Migration(migrations.Migration):

    dependencies = [("seckill", "0006_variants")]

    operations = [migrations.RunPython(fill, empty)]
