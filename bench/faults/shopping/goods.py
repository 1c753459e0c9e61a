"""Products of the ordinary shop for one trial, with as many units each as the trial wants."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import uuid4

from django.db import transaction
from django.db.models.functions import Now

from bench import load_buyers
from bench.faults.trial_sale import Credentials, tokens_of
from bench.load_sale import PRICE_MINOR, make_load_product
from orders.models import Order, OrderStatus
from shop.models import Product

# The numbers of buyers in the ordinary shop start here, far above those who buy in the trial's sale.
SHOPPERS_FIRST = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """How many different products there are, and how many units of each."""

    products: int = 0
    units: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Goods:
    """The goods that the trial put on the shelf: by SKU, the id of the variant and the units at the start."""

    variant_ids: Mapping[str, int] = field(default_factory=dict)
    units: int = 0

    @property
    def skus(self) -> list[str]:
        return list(self.variant_ids)


def new_goods(trial: str, shelf: Shelf) -> Goods:
    """New products that everybody can buy."""
    with transaction.atomic():
        variants = [
            make_load_product(name=f"{trial} {number}", price_minor=PRICE_MINOR, units=shelf.units, is_active=True)
            for number in range(shelf.products)
        ]
    return Goods(variant_ids={variant.sku: variant.pk for variant in variants}, units=shelf.units)


def take_off_the_shelf(goods: Goods) -> None:
    """Take them out of the shop."""
    Product.objects.filter(variants__in=goods.variant_ids.values()).update(is_active=False)


def end_forgotten(goods: Goods) -> None:
    """Let the deadline of all unpaid orders pass now.

    It writes to PostgreSQL directly: the shop holds no order for less than a minute, and a trial need not wait that
    long for the buyers who do not pay.
    """
    unpaid = Order.objects.filter(
        lines__variant__in=goods.variant_ids.values(), lines__sale_item=None, status=OrderStatus.AWAITING_PAYMENT
    )
    Order.objects.filter(pk__in=unpaid.values("pk"), expires_at__gt=Now()).update(expires_at=Now())


def shopper_credentials(*, count: int, first: int = 0) -> list[Credentials]:
    """The credentials of so many buyers in the ordinary shop, each with the key of a new purchase."""
    buyer_ids = load_buyers.load_buyer_ids(count=count, first=SHOPPERS_FIRST + first)
    return [
        Credentials(buyer_id=buyer_id, reservation_id=str(uuid4()), pass_text="", token=token)
        for buyer_id, token in zip(buyer_ids, tokens_of(buyer_ids), strict=True)
    ]
