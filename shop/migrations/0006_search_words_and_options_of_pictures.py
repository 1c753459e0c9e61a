"""Words by which a product is also found, and the option that a picture shows. Rows that are there have none."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("shop", "0005_search_of_staff"),
    ]

    operations = [
        migrations.AddField(
            model_name="product",
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
        migrations.AddField(
            model_name="picture",
            name="option",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="A value such as “Red”: the page of the product shows this picture when it is chosen.",
                max_length=200,
                verbose_name="shows the option",
            ),
        ),
    ]
