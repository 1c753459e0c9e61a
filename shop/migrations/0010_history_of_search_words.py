"""The history has the words of the search too."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("shop", "0009_taken_step"),
    ]

    operations = [
        migrations.AddField(
            model_name="historicalproduct",
            name="search_words",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="What people also call it, in all languages: “kettle, 水壶”. Not shown.",
                max_length=300,
                verbose_name="words of the search",
            ),
        ),
    ]
