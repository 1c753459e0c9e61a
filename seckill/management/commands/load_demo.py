"""Something to look at and to buy: a small shop, two buyers, and a sale that opens within a minute."""

import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from seckill.models import Sale, SaleItem, published_sales
from seckill.publication import CannotPublish, publish_sale
from seckill.store import StoreUnreachable
from shop.models import Category, Product

# Time to read the page and to get ready, and still within the first minute.
OPENS_IN = timedelta(seconds=45)
LASTS = timedelta(hours=2)
# A sale that opens this soon is worth waiting for; no other is made then.
SOON = timedelta(minutes=10)

CATEGORIES = [
    ("tea", "Tea", "茶"),
    ("kitchen", "Kitchen", "厨房"),
    ("desk", "Desk", "书桌"),
    ("outdoors", "Outdoors", "户外"),
]


@dataclass(frozen=True, slots=True)
class Thing:
    """A product of the demo shop; the price is in 分."""

    slug: str
    category: str
    price_minor: int
    name: str
    name_zh: str
    description: str
    description_zh: str


@dataclass(frozen=True, slots=True)
class Bargain:
    """A product in a sale of the demo shop. `quantity` None means unlimited."""

    slug: str
    price_minor: int
    quantity: int | None
    per_buyer_max: int = 1


THINGS = [
    Thing(
        "longjing-tea",
        "tea",
        16800,
        "Longjing tea, first harvest",
        "明前龙井",
        "100 g in a tin, picked before April.",
        "100 克罐装，清明前采摘。",
    ),
    Thing(
        "gaiwan",
        "tea",
        12900,
        "Porcelain gaiwan",
        "白瓷盖碗",
        "150 ml, thin-walled, from Jingdezhen.",
        "150 毫升薄胎，产自景德镇。",
    ),
    Thing(
        "cast-iron-wok",
        "kitchen",
        29900,
        "Cast-iron wok",
        "铸铁炒锅",
        "32 cm, seasoned, for every kind of stove.",
        "32 厘米，已开锅，各种炉灶通用。",
    ),
    Thing(
        "chef-knife",
        "kitchen",
        39900,
        "Chef's knife",
        "主厨刀",
        "Forged from one piece of steel.",
        "整块钢锻造而成。",
    ),
    Thing(
        "mechanical-keyboard",
        "desk",
        59900,
        "Mechanical keyboard",
        "机械键盘",
        "75 keys, quiet switches, two cables.",
        "75 键静音轴，附两条连接线。",
    ),
    Thing(
        "desk-lamp",
        "desk",
        24900,
        "Desk lamp",
        "护眼台灯",
        "Warm to cool light, without flicker.",
        "色温可调，无频闪。",
    ),
    Thing(
        "headphones",
        "desk",
        89900,
        "Noise-cancelling headphones",
        "降噪耳机",
        "Forty hours on one charge.",
        "一次充电可用四十小时。",
    ),
    Thing(
        "day-pack",
        "outdoors",
        32900,
        "Day pack, 22 litres",
        "22 升双肩包",
        "Keeps the rain out and the back dry.",
        "防雨透气，背负舒适。",
    ),
]
NOW = [
    Bargain("headphones", 9900, quantity=100),
    Bargain("longjing-tea", 3900, quantity=500, per_buyer_max=3),
    Bargain("gaiwan", 8900, quantity=None, per_buyer_max=5),
]
TOMORROW = [
    Bargain("mechanical-keyboard", 19900, quantity=200),
    Bargain("cast-iron-wok", 9900, quantity=300, per_buyer_max=2),
    Bargain("day-pack", 12900, quantity=150),
]


class Command(BaseCommand):
    help = "Load products, people, and a sale that opens within a minute. Safe to repeat at any time."

    def handle(self, *args: Any, **options: Any) -> None:
        with transaction.atomic():
            load_products()
        self.load_people()
        now = timezone.now()
        if not published_sales().filter(opens_at__lte=now + SOON, closes_at__gt=now).exists():
            self.make_sale("Opening sale", "开业秒杀", NOW, opens_at=now + OPENS_IN)
        if not published_sales().filter(opens_at__gt=now + SOON).exists():
            # On the hour, as people would announce it.
            opens_at = (timezone.localtime(now) + timedelta(days=1)).replace(minute=0, second=0, microsecond=0)
            self.make_sale("Tomorrow's sale", "明日秒杀", TOMORROW, opens_at=opens_at)

    def load_people(self) -> None:
        admin_password = os.environ.get("STAMPEDE_ADMIN_PASSWORD")
        buyer_password = os.environ.get("STAMPEDE_BUYER_PASSWORD")
        if admin_password:
            load_person("admin", admin_password, is_staff=True, is_superuser=True)
        if buyer_password:
            load_person("alice", buyer_password, email="alice@example.com")
            load_person("bob", buyer_password, email="bob@example.com")
        if not (admin_password and buyer_password):
            self.stdout.write(
                "STAMPEDE_ADMIN_PASSWORD or STAMPEDE_BUYER_PASSWORD is not set, so those accounts were not created."
            )

    def make_sale(self, name: str, name_zh: str, bargains: list[Bargain], *, opens_at: datetime) -> None:
        """A published sale of those bargains whose products no other sale has at that time."""
        closes_at = opens_at + LASTS
        taken = SaleItem.objects.filter(sale__opens_at__lt=closes_at, sale__closes_at__gt=opens_at)
        products = Product.objects.exclude(sale_items__in=taken).in_bulk(
            [bargain.slug for bargain in bargains], field_name="slug"
        )
        items = [
            SaleItem(
                product=products[bargain.slug],
                # A manager may have made the product cheaper meanwhile.
                price_minor=min(bargain.price_minor, products[bargain.slug].price_minor),
                quantity=bargain.quantity,
                per_buyer_max=bargain.per_buyer_max,
            )
            for bargain in bargains
            if bargain.slug in products
        ]
        if not items:
            self.stdout.write(f"“{name}” was not created: its products are in other sales at that time.")
            return
        with transaction.atomic():
            sale = Sale.objects.create(name=name, name_zh=name_zh, opens_at=opens_at, closes_at=closes_at)
            for item in items:
                item.sale = sale
            SaleItem.objects.bulk_create(items)
        try:
            publish_sale(sale_id=sale.pk)
        except CannotPublish as refusal:
            # Without this, each start would leave another draft behind.
            sale.delete()
            raise CommandError(f"“{name}” cannot be published. {refusal}") from refusal
        except StoreUnreachable as error:
            self.stderr.write(f"The reservation store does not answer ({error}); the sale opens as soon as it does.")
        self.stdout.write(f"“{name}” opens at {timezone.localtime(opens_at):%Y-%m-%d %H:%M:%S %Z}.")


def load_products() -> None:
    """What is there stays as it is, so that a manager's changes survive."""
    categories = {
        slug: Category.objects.get_or_create(slug=slug, defaults={"name": name, "name_zh": name_zh})[0]
        for slug, name, name_zh in CATEGORIES
    }
    for thing in THINGS:
        Product.objects.get_or_create(
            slug=thing.slug,
            defaults={
                "name": thing.name,
                "name_zh": thing.name_zh,
                "description": thing.description,
                "description_zh": thing.description_zh,
                "category": categories[thing.category],
                "price_minor": thing.price_minor,
                "stock": 50,
            },
        )


def load_person(username: str, password: str, **values: Any) -> None:
    """The person with this password. It is set only where it differs: setting it would end open sessions."""
    person, created = User.objects.get_or_create(username=username, defaults=values)
    if created or not person.check_password(password):
        person.set_password(password)
        person.save(update_fields=["password"])
