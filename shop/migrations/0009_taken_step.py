"""The forms and tables that have changed the stock: sent once more, they change nothing."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("shop", "0008_order_units_max"),
    ]

    operations = [
        migrations.CreateModel(
            name="TakenStep",
            fields=[
                ("token", models.UUIDField(primary_key=True, serialize=False)),
                ("taken_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
    ]
