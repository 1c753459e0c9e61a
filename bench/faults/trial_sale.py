"""The setup of one trial: a new sale in the running shop, and buyers with passes and API tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.utils import timezone

from bench import load_buyers
from bench.load_sale import PRICE_MINOR, open_load_sale
from seckill.models import LatePayment, Sale, SaleItem
from seckill.passes import passes
from shop.models import ApiToken

# Longer than any trial.
SALE_SECONDS = 3_600
# More than any fault adds to its sale.
SPARE_UNITS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """The units on sale and their hold time. By default fewer units than buyers want, so that it can be oversold."""

    quantity: int = 40
    per_buyer_max: int = 2
    hold_seconds: int = 5
    late_payment: LatePayment = LatePayment.TAKE_AGAIN


@dataclass(frozen=True, slots=True)
class Credentials:
    """One buyer's pass with the reservation id in it, and an API token for all other calls."""

    buyer_id: int
    reservation_id: str
    pass_text: str
    token: str


def new_item(trial: str, stock: Stock) -> SaleItem:
    """The item of a new sale, open now."""
    return open_load_sale(
        name=trial,
        quantity=stock.quantity,
        per_buyer_max=stock.per_buyer_max,
        open_seconds=SALE_SECONDS,
        hold_seconds=stock.hold_seconds,
        late_payment=stock.late_payment,
        spare_units=SPARE_UNITS,
    )


def unpublished_item(trial: str, stock: Stock, *, variant_id: int) -> SaleItem:
    """The item of a new sale of this variant, which opens as soon as it is published."""
    now = timezone.now()
    sale = Sale.objects.create(
        name=trial,
        opens_at=now,
        closes_at=now + timedelta(seconds=SALE_SECONDS),
        hold_seconds=stock.hold_seconds,
        late_payment=stock.late_payment,
        listed=False,
    )
    return SaleItem.objects.create(
        sale=sale,
        variant_id=variant_id,
        price_minor=PRICE_MINOR,
        quantity=stock.quantity,
        per_buyer_max=stock.per_buyer_max,
    )


def credentials_for(item: SaleItem, *, count: int, first: int = 1) -> list[Credentials]:
    """The credentials of `count` load-test buyers, numbered from `first`."""
    buyer_ids = load_buyers.load_buyer_ids(count=count, first=first)
    texts = list(load_buyers.make_passes(item_id=item.pk, buyer_ids=buyer_ids))
    return [
        Credentials(
            buyer_id=buyer_id, reservation_id=str(passes.read(text).reservation_id), pass_text=text, token=token
        )
        for buyer_id, text, token in zip(buyer_ids, texts, tokens_of(buyer_ids), strict=True)
    ]


def tokens_of(buyer_ids: Sequence[int]) -> list[str]:
    users = get_user_model().objects.in_bulk(buyer_ids)
    return [ApiToken.objects.create(user=users[buyer_id])[1] for buyer_id in buyer_ids]
