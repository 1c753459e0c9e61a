"""A mail about a tracking number that was entered after the order had left. Nothing changes in the database."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0006_bounds_for_guests"),
    ]

    operations = [
        migrations.AlterField(
            model_name="mail",
            name="kind",
            field=models.CharField(
                choices=[
                    ("placed", "order received"),
                    ("paid", "confirmation"),
                    ("shipped", "shipped"),
                    ("tracking", "tracking number"),
                    ("expired", "expiry"),
                    ("refunded", "refund"),
                    ("link", "link to a guest's order"),
                ],
                max_length=10,
                verbose_name="kind",
            ),
        ),
    ]
