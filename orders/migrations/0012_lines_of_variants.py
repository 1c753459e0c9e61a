from django.db import migrations
from django.db.models import OuterRef, Subquery


def fill(apps, schema_editor):
    """Each line is of its product's only variant."""
    OrderLine, Variant = apps.get_model("orders", "OrderLine"), apps.get_model("shop", "Variant")
    first = Variant.objects.filter(product=OuterRef("product")).order_by("position", "pk").values("pk")[:1]
    OrderLine.objects.update(variant=Subquery(first))


def empty(apps, schema_editor):
    OrderLine, Variant = apps.get_model("orders", "OrderLine"), apps.get_model("shop", "Variant")
    OrderLine.objects.update(product=Subquery(Variant.objects.filter(pk=OuterRef("variant")).values("product")[:1]))


class Migration(migrations.Migration):

    dependencies = [("orders", "0011_ordinary_orders")]

    operations = [migrations.RunPython(fill, empty)]
