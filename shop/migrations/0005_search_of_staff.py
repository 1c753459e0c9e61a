"""Indexes for parts of SKUs, user names and mail addresses, in which staff search. They are built beside the writes."""

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations
from django.db.models.functions import Upper


def index_of_people(column: str) -> migrations.RunSQL:
    """The table is Django's, so no model of ours has the index."""
    name = f"shop_user_{column}_parts"
    return migrations.RunSQL(
        f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON auth_user USING gin (upper({column}) gin_trgm_ops)",
        f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("shop", "0004_customer"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="variant",
            index=GinIndex(OpClass(Upper("sku"), name="gin_trgm_ops"), name="shop_variant_sku_parts"),
        ),
        index_of_people("username"),
        index_of_people("email"),
    ]
