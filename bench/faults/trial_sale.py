"""The scene of one trial: a fresh sale on the running site, and buyers with passes and API tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.utils import timezone
from knox.models import AuthToken

from bench import load_buyers
from bench.load_sale import open_load_sale
from seckill import passes
from seckill.models import LatePayment, Sale, SaleItem

# Longer than any trial: what a trial wants to see end, it ends.
SALE_SECONDS = 3_600
# Closed for longer than any hold can last, a sale's books do not move any more.
RETIRED = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """What is on sale and for how long it is held. Fewer units than are asked for, so that overselling is possible."""

    quantity: int = 40
    per_buyer_max: int = 2
    hold_seconds: int = 6
    late_payment: LatePayment = LatePayment.TAKE_AGAIN


@dataclass(frozen=True, slots=True)
class Ticket:
    """One buyer's way in: the pass and what it is good for, and a token for everything else."""

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
    )


def retire(item: SaleItem) -> None:
    """Take a trial's sale out of the sweeps, so that the next one finds as much to do as if it were the first."""
    long_ago = timezone.now() - RETIRED
    Sale.objects.filter(pk=item.sale_id).update(opens_at=long_ago - timedelta(hours=1), closes_at=long_ago)


def tickets_for(item: SaleItem, *, count: int, first: int = 1) -> list[Ticket]:
    """A ticket for each of `count` load-test buyers, numbered from `first`."""
    buyer_ids = load_buyers.load_buyer_ids(count=count, first=first)
    texts = list(load_buyers.make_passes(item_id=item.pk, buyer_ids=buyer_ids))
    return [
        Ticket(
            buyer_id=buyer_id,
            reservation_id=str(passes.read(text).reservation_id),
            pass_text=text,
            token=token,
        )
        for buyer_id, text, token in zip(buyer_ids, texts, tokens_of(buyer_ids), strict=True)
    ]


def tokens_of(buyer_ids: Sequence[int]) -> list[str]:
    """A new API token for each buyer."""
    users = get_user_model().objects.in_bulk(buyer_ids)
    return [AuthToken.objects.create(user=users[buyer_id])[1] for buyer_id in buyer_ids]
