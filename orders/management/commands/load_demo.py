"""Loads demo data: some products, an admin, two buyers, and a sale that opens within a minute."""

import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from seckill.models import Sale, SaleItem, published_sales
from seckill.publication import CannotPublish, publish_sale
from seckill.store.client import StoreUnreachable
from shop.demo.drawings import load_pictures
from shop.demo.loading import deliver, load_goods
from shop.models import Variant
from shop.tasks import draw_demo_pictures
from shop.times.zone import time_with_offset

# Time to read the page, and still within the first minute.
OPENS_IN = timedelta(seconds=45)
LASTS = timedelta(hours=2)
# Ordinary units of a product that are left while its sale runs.
UNITS_BESIDE_THE_SALE = 30
# If a sale opens this soon, no other is created.
SOON = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class DemoItem:
    """A product in a sale of the demo shop. `quantity` None means unlimited."""

    slug: str
    price_minor: int
    quantity: int | None
    per_buyer_max: int = 1


OPENING_ITEMS = [
    DemoItem("headphones", 9900, quantity=100),
    DemoItem("longjing-tea", 3900, quantity=500, per_buyer_max=3),
    DemoItem("gaiwan", 8900, quantity=None, per_buyer_max=5),
]
TOMORROW_ITEMS = [
    DemoItem("mechanical-keyboard", 19900, quantity=200),
    DemoItem("cast-iron-wok", 9900, quantity=300, per_buyer_max=2),
    DemoItem("day-pack", 12900, quantity=150),
]


class Command(BaseCommand):
    help = (
        "Load products, people, and a sale that opens within a minute. Safe to repeat: what is there stays, "
        "what is missing is made."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--pictures-later", action="store_true", help="a Celery worker draws them")

    def handle(self, *args: Any, **options: Any) -> None:
        load_goods()
        self.load_people()
        now = timezone.now()
        if not published_sales().filter(opens_at__lte=now + SOON, closes_at__gt=now).exists():
            self.make_sale("Opening sale", "开业秒杀", OPENING_ITEMS, opens_at=now + OPENS_IN)
        if not published_sales().filter(opens_at__gt=now + SOON).exists():
            # On the hour, as a shop would announce it.
            opens_at = (timezone.localtime(now) + timedelta(days=1)).replace(minute=0, second=0, microsecond=0)
            self.make_sale("Tomorrow's sale", "明日秒杀", TOMORROW_ITEMS, opens_at=opens_at)
        # After the sales, which must not wait for it.
        if options["pictures_later"]:
            draw_demo_pictures.delay()
        elif made := load_pictures():
            self.stdout.write(f"{made} pictures were drawn.")

    def load_people(self) -> None:
        admin_password = os.environ.get("STAMPEDE_ADMIN_PASSWORD")
        buyer_password = os.environ.get("STAMPEDE_BUYER_PASSWORD")
        if admin_password:
            load_person("admin", admin_password, email="admin@example.com", is_staff=True, is_superuser=True)
        if buyer_password:
            load_person("alice", buyer_password, email="alice@example.com")
            load_person("bob", buyer_password, email="bob@example.com")
        if not (admin_password and buyer_password):
            self.stdout.write(
                "STAMPEDE_ADMIN_PASSWORD or STAMPEDE_BUYER_PASSWORD is not set, so those accounts were not created."
            )

    def make_sale(self, name: str, name_zh: str, demo_items: list[DemoItem], *, opens_at: datetime) -> None:
        """Create and publish a sale, without products that another sale has at that time or that staff have hidden."""
        closes_at = opens_at + LASTS
        taken = SaleItem.objects.filter(sale__opens_at__lt=closes_at, sale__closes_at__gt=opens_at)
        variants = {
            variant.product.slug: variant
            for variant in Variant.objects.exclude(product__variants__sale_items__in=taken)
            .select_related("product")
            .filter(product__slug__in=[demo_item.slug for demo_item in demo_items])
            .filter(is_active=True, product__is_active=True)
            # The first variant of a product stays in the dictionary.
            .order_by("-position", "-pk")
        }
        items = [
            SaleItem(
                variant=variants[demo_item.slug],
                # A manager may have lowered the price of the product.
                price_minor=min(demo_item.price_minor, variants[demo_item.slug].price_minor),
                quantity=demo_item.quantity,
                per_buyer_max=demo_item.per_buyer_max,
            )
            for demo_item in demo_items
            if demo_item.slug in variants
        ]
        if not items:
            self.stdout.write(f"“{name}” was not created: its products are hidden, or in other sales at that time.")
            return
        with transaction.atomic():
            sale = Sale.objects.create(name=name, name_zh_hans=name_zh, opens_at=opens_at, closes_at=closes_at)
            for item in items:
                item.sale = sale
                # The sale takes its units out of the ordinary stock.
                deliver(variant=item.variant, units=(item.quantity or 0) + UNITS_BESIDE_THE_SALE)
            SaleItem.objects.bulk_create(items)
        try:
            publish_sale(sale_id=sale.pk)
        except CannotPublish as refusal:
            # Otherwise each start would leave another draft behind.
            sale.delete()
            raise CommandError(f"“{name}” cannot be published. {refusal}") from refusal
        except StoreUnreachable as error:
            self.stderr.write(f"The reservation store does not answer ({error}); the sale opens as soon as it does.")
        self.stdout.write(f"“{name}” opens at {time_with_offset(opens_at)}.")


def load_person(username: str, password: str, **values: Any) -> None:
    """Create the account, or set its password if it differs: setting the same password would end open sessions."""
    person, created = User.objects.get_or_create(username=username, defaults=values)
    if created or not person.check_password(password):
        person.set_password(password)
        person.save(update_fields=["password"])
