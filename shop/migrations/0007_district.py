"""The district of an address (区县). Addresses that are there have none."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("shop", "0006_search_words_and_options_of_pictures"),
    ]

    operations = [
        migrations.AddField(
            model_name="address",
            name="district",
            field=models.CharField(blank=True, db_default="", default="", max_length=100, verbose_name="district"),
        ),
    ]
