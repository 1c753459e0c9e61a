"""One row of stock and the orders from it. `make_tables` makes the tables, since the shop has no migrations of them."""

import uuid
from typing import ClassVar

from django.db import connection, models


class BareStock(models.Model):
    left = models.BigIntegerField()
    # Written out, since the settings of the shop do not install this app, and mypy reads those.
    objects: ClassVar[models.Manager["BareStock"]] = models.Manager()

    class Meta:
        app_label = "bare_site"
        db_table = "speed_stock"

    def __str__(self) -> str:
        return f"{self.left} left"


class BareOrder(models.Model):
    """An order has less than one of the shop: no line, no amount, no deadline."""

    reservation_id = models.UUIDField(unique=True, default=uuid.uuid4)
    stock_id = models.BigIntegerField()
    units = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    objects: ClassVar[models.Manager["BareOrder"]] = models.Manager()

    class Meta:
        app_label = "bare_site"
        db_table = "speed_orders"

    def __str__(self) -> str:
        return str(self.reservation_id)


def make_tables() -> None:
    """Make the tables in the database of the bench."""
    with connection.schema_editor() as editor:
        editor.create_model(BareStock)
        editor.create_model(BareOrder)
