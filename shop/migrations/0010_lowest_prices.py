from django.db import migrations, models

from shop.models.search_entry import write_entries


def fill(apps, schema_editor):
    write_entries(apps.get_model("shop", "Product").objects.all())


class Migration(migrations.Migration):

    dependencies = [("shop", "0009_search")]

    operations = [
        migrations.AddField(
            model_name='searchentry',
            name='lowest_minor',
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
