"""One purchase for each delivery address or payment card, where a sale asks for it.

The address is claimed when a payment page is opened, so a buyer is told before paying, or when staff record a payment;
a card is known with the money, which is refunded then. A claim is a row that PostgreSQL keeps unique. It stands while
its order is unpaid or sold: an order that comes later takes over the claim of one that ended. Call these with the order
locked, in its transaction.

Addresses and cards are marks made with SECRET_KEY. Those of former keys are found while these are in
SECRET_KEY_FALLBACKS.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from hashlib import blake2b

from django.db.models import Q
from django.db.models.functions import Now

from orders.models import LIVE, Order, OrderLine, Payment, Served, ShippingAddress
from seckill.live.answer_counts import answer_counts
from seckill.models import SaleItem
from shop.configuration.quick_setting import secret_keys

# The name is left out: it costs nothing to write another one.
COMPARED = ("line1", "line2", "district", "city", "postcode", "country")
# A late payment can come for some days after the end.
KEPT_AFTER_END = timedelta(days=30)
FORGOTTEN_MAX = 1_000


class Claim(StrEnum):
    """The answer to an order that is to be paid."""

    ADDRESS_MISSING = "address_missing"
    TAKEN = "taken"
    GRANTED = "granted"


def claim_address(order: Order) -> Claim:
    """Claim the order's delivery address, if its sale asks for that."""
    wanted = address_wanted(order)
    if isinstance(wanted, Claim):
        return wanted
    item, marks = wanted
    if claim(order=order, item=item, kind=Served.Kind.ADDRESS, marks=marks):
        return Claim.GRANTED
    answer_counts.add(item.pk, "one_per_address")
    return Claim.TAKEN


def likely_claim(order: Order) -> Claim:
    """What `claim_address` would answer now. Nothing is claimed, so the order need not be locked."""
    wanted = address_wanted(order)
    if isinstance(wanted, Claim):
        return wanted
    item, marks = wanted
    rows = Served.objects.filter(item=item, kind=Served.Kind.ADDRESS, mark__in=marks).exclude(order=order)
    return Claim.TAKEN if any(map(stands, rows)) else Claim.GRANTED


def keeps_claim(order: Order, *, address: Mapping[str, str]) -> bool:
    """Whether the order may get another address. One that has claimed its address must claim the new one too."""
    if not Served.objects.filter(order=order, kind=Served.Kind.ADDRESS).exists():
        return True
    item = guarded_item(order)
    return item is None or claim(
        order=order, item=item, kind=Served.Kind.ADDRESS, marks=marks_of(address_text(address))
    )


def claim_with_money(order: Order, *, card_mark: str) -> bool:
    """Claim address and card of an order whose money has come. False if another order had one of them.

    `card_mark` is that of the event; empty if the payment company does not tell cards apart.
    """
    item = guarded_item(order)
    if item is None:
        return True
    if claim_address(order) is Claim.TAKEN:
        return False
    if not item.sale.one_per_card or not card_mark:
        return True
    if claim(order=order, item=item, kind=Served.Kind.CARD, marks=[card_mark]):
        return True
    answer_counts.add(item.pk, "one_per_card")
    return False


def guarded_item(order: Order) -> SaleItem | None:
    line = OrderLine.objects.select_related("sale_item__sale").filter(order=order, sale_item__isnull=False).first()
    item = line.sale_item if line else None
    return item if item is not None and (item.sale.one_per_address or item.sale.one_per_card) else None


def claim(*, order: Order, item: SaleItem, kind: Served.Kind, marks: Sequence[str]) -> bool:
    """Of several orders at once, one gets it: the others wait for its row. The first mark is written."""
    former = Served.objects.filter(item=item, kind=kind, mark__in=marks[1:]).exclude(order=order)
    if any(map(stands, former.select_for_update())):
        return False
    # Inserts the row, or locks the one that is there: its order may give it up at this moment, and it would be gone.
    Served.objects.bulk_create(
        [Served(item=item, kind=kind, mark=marks[0], order=order)],
        update_conflicts=True,
        unique_fields=["item", "kind", "mark"],
        update_fields=["mark"],
    )
    row = Served.objects.get(item=item, kind=kind, mark=marks[0])
    if row.order_id != order.pk:
        if stands(row):
            return False
        Served.objects.filter(pk=row.pk).update(order=order)
    Served.objects.filter(order=order, kind=kind).exclude(pk=row.pk).delete()
    return True


def stands(row: Served) -> bool:
    """Whether the claim still counts. An expired order keeps it while a late payment of it is decided."""
    standing = Q(status__in=LIVE) | Q(payments__status=Payment.Status.CAPTURED)
    return Order.objects.filter(standing, pk=row.order_id).exists()


def forget_old() -> int:
    """Remove a batch of claims of sales that are long over. Returns how many."""
    old = Served.objects.filter(item__sale__closes_at__lt=Now() - KEPT_AFTER_END)
    count, _rows = Served.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:FORGOTTEN_MAX])).delete()
    return count


def address_wanted(order: Order) -> tuple[SaleItem, list[str]] | Claim:
    """The item and the marks of the address that is to be claimed; or the answer, where there is none to claim."""
    item = guarded_item(order)
    if item is None or not item.sale.one_per_address:
        return Claim.GRANTED
    address = ShippingAddress.objects.filter(order=order).values(*COMPARED).first()
    return (item, marks_of(address_text(address))) if address else Claim.ADDRESS_MISSING


def address_text(address: Mapping[str, str]) -> str:
    """The same for one address however its letters, spaces and signs are written.

    Two numbers stay two, whatever is between them: 1-11-2 is 1/11 2, and not 11-1-2. A postcode's groups do not count.
    """
    texts = {name: str(address.get(name, "")) for name in COMPARED}
    texts["postcode"] = re.sub(r"[\W_]", "", texts["postcode"])
    plain = unicodedata.normalize("NFKC", " ".join(texts.values())).casefold()
    # A sign that cannot be seen does not make two numbers of one.
    seen = "".join(sign for sign in plain if unicodedata.category(sign)[0] not in "CM")
    spaced = re.sub(r"[\W_]+", " ", seen)
    return re.sub(r"(?<!\d) | (?!\d)", "", spaced)


def mark_of_card(card: str) -> str:
    """What an event keeps of a card: the mark by the current key, or the former one by which the card is known."""
    current, *former = marks_of(card)
    claims = Served.objects.filter(kind=Served.Kind.CARD, item__sale__one_per_card=True, mark__in=former)
    return claims.values_list("mark", flat=True).first() or current


def marks_of(text: str) -> list[str]:
    """By the current key, and by the former ones."""
    return [
        blake2b(text.encode(), digest_size=16, key=secret.encode()[:64], person=b"one-for-each").hexdigest()
        for secret in secret_keys()
    ]
