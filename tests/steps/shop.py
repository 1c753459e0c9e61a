"""What the shop has: products with one variant and more units than any test needs, items on sale, and its servers."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from html import unescape
from io import BytesIO
from typing import Any
from unittest import mock

from django.conf import settings
from django.core.files.base import ContentFile
from django.db import OperationalError, connection, connections
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone
from PIL import Image

from seckill.models import Sale, SaleItem
from seckill.publication import publish_sale
from shop.models import Picture, Product, SearchEntry, StockChange, Variant
from shop.search.query import Found, search

PLENTY = 1_000_000


def found_among(entries: "QuerySet[SearchEntry]", typed: str) -> Found:
    """What a list would show of these entries."""
    return next((found for found in search(entries, typed) if found.entries.exists()), Found(entries.none()))


def make_product(*, slug: str, price_minor: int, units: int = PLENTY, **fields: Any) -> Product:
    """A product with one variant of `units` available units.

    Most tests need one, so it takes few statements: one search entry, and no lock of a variant that nobody else sees.
    """
    product = Product(slug=slug, **fields)
    # What can be searched of it is written with its variant.
    product.save_base(force_insert=True)
    variant = Variant.objects.create(product=product, sku=f"SKU-{slug}", price_minor=price_minor, available=units)
    if units:
        StockChange.objects.create(
            variant=variant,
            kind=StockChange.Kind.CHANGED,
            units=units,
            available_before=0,
            available_after=units,
            held_before=0,
            held_after=0,
            reason="first delivery",
        )
    return product


def variant_of(product: Product) -> Variant:
    """The only variant of a product."""
    return product.variants.get()


def goods(slug: str, *, units: int = 10, price_minor: int = 1000) -> Variant:
    names = {"name": slug.title(), "name_zh_hans": f"商品 {slug}"}
    return variant_of(make_product(slug=slug, price_minor=price_minor, units=units, **names))


def png(*, size: tuple[int, int] = (20, 20)) -> bytes:
    """The file of a picture of one colour."""
    file = BytesIO()
    Image.new("RGB", size, "#2f6b5e").save(file, "PNG")
    return file.getvalue()


def add_picture(product: Product, **fields: Any) -> Picture:
    """Its files are in settings.MEDIA_ROOT."""
    return Picture.objects.create(product=product, image=ContentFile(png(), "picture.png"), **fields)


def units_in(variant: Variant) -> tuple[int, int, int]:
    """Available, held, sold."""
    variant.refresh_from_db()
    return variant.available, variant.held, variant.sold


def make_item(
    product: Product,
    *,
    quantity: int | None = 5,
    per_buyer_max: int = 1,
    price_minor: int = 1900,
    opens_in_seconds: float = -60,
    closes_in_seconds: float = 3600,
    hold_seconds: int = 900,
    waiting_list: bool = False,
    published: bool = True,
    has_room: bool = False,
    admission: Sale.Admission = Sale.Admission.FIRST_COME,
) -> SaleItem:
    """A sale of one item."""
    now = timezone.now()
    sale = Sale.objects.create(
        name="Spring sale",
        name_zh_hans="春季秒杀",
        opens_at=now + timedelta(seconds=opens_in_seconds),
        closes_at=now + timedelta(seconds=closes_in_seconds),
        hold_seconds=hold_seconds,
        waiting_list=waiting_list,
        admission=Sale.Admission.WAITING_ROOM if has_room else admission,
    )
    item = SaleItem.objects.create(
        sale=sale, variant=variant_of(product), quantity=quantity, per_buyer_max=per_buyer_max, price_minor=price_minor
    )
    if published:
        publish_sale(sale_id=sale.pk)
        item.refresh_from_db()
    return item


def other_item(slug: str = "cup", **terms: Any) -> SaleItem:
    """A sale of one item, of a product beside that of the fixture."""
    return make_item(make_product(slug=slug, name=slug.title(), price_minor=9900), **terms)


def statements_for(client: Client, address: str) -> int:
    """How many SQL statements the page takes once it has been opened before."""
    client.get(address)
    return statements(client, address)


def statements(client: Client, address: str) -> int:
    """How many SQL statements the page takes."""
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


@contextmanager
def server_away(name: str) -> Iterator[None]:
    """`database`, `reservation_store` or `cache` takes no connections for the length of a `with`."""
    if name == "database":
        refused = OperationalError("connection refused")
        with mock.patch.object(type(connections["default"]), "cursor", side_effect=refused):
            yield
    else:
        alias = {"reservation_store": "seckill", "cache": "default"}[name]
        nowhere = {**settings.CACHES[alias], "LOCATION": "redis://127.0.0.1:1/0"}
        with override_settings(CACHES={**settings.CACHES, alias: nowhere}):
            yield


def text_of(client: Client, path: str, **headers: str) -> str:
    """The page as its reader sees the signs in it."""
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200
    return unescape(answer.content.decode())
