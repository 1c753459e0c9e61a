from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Exists, ExpressionWrapper, F, OuterRef, Prefetch, Q, Value
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from modeltranslation.manager import MultilingualManager

from seckill.phase import Phase, phase_of
from seckill.rows.chosen_replicas import ReplicaChoice as ReplicaChoice
from seckill.rows.draws import Draw as Draw
from seckill.rows.draws import DrawEntry as DrawEntry
from seckill.rows.sale_changes import SaleChange as SaleChange
from seckill.terms.guard_fields import GuardFields
from shop.models import Product, Variant

# Lua counts in doubles, which are exact up to 2**53. This limit is far below that, and above any real sale.
UNITS_MAX = 100_000_000

# A hold lasts a week at most (`Sale.hold_seconds`); one day to spare.
LONGEST_HOLD = timedelta(days=8)


class LatePayment(models.TextChoices):
    """The ways to treat a payment that arrives after its hold has ended."""

    TAKE_AGAIN = "take_again", _("complete the purchase if units are left, otherwise refund")
    REFUND = "refund", _("always refund")


class NoPass(StrEnum):
    """Why buyers get no pass for a sale, in the words of the API."""

    DRAWN = "drawn"
    TOO_EARLY = "too_early"
    CLOSED = "closed"


class Sale(GuardFields):
    """A flash-sale campaign: a window, a hold time, some sale items, and what it asks of its buyers.

    Once a sale is published, `closes_at`, `paused` and the terms of its items are changed only by
    `seckill/changes/journal.py`, so that PostgreSQL and the reservation store stay in line.
    """

    class Admission(models.TextChoices):
        FIRST_COME = "first_come", _("first come, first served")
        WAITING_ROOM = "waiting_room", _("waiting room")
        DRAW = "draw", _("draw")

    name = models.CharField(_("name"), max_length=200)
    opens_at = models.DateTimeField(_("opens at"))
    closes_at = models.DateTimeField(_("closes at"))
    hold_seconds = models.PositiveIntegerField(
        _("seconds to pay"),
        default=900,
        validators=[MinValueValidator(5), MaxValueValidator(7 * 24 * 3600)],
        help_text=_("How long reserved units are held for a buyer who has not paid yet."),
    )
    late_payment = models.CharField(
        _("late payments"),
        max_length=20,
        choices=LatePayment,
        default=LatePayment.TAKE_AGAIN,
        help_text=_("What happens when a payment arrives after the deadline."),
    )
    listed = models.BooleanField(
        _("listed"),
        default=True,
        db_default=True,
        help_text=_(
            "Shown on the home page and in the API's lists. If unchecked, no page leads to it, but its number can be "
            "guessed."
        ),
    )
    waiting_list = models.BooleanField(
        _("waiting list"),
        default=False,
        db_default=False,
        help_text=_("Buyers who come too late can wait. Units that come back go to the first in line."),
    )
    admission = models.CharField(
        _("admission"),
        max_length=20,
        choices=Admission,
        default=Admission.FIRST_COME,
        db_default=Admission.FIRST_COME,
        help_text=_(
            "In a waiting room, people who come before the opening get a random place, later ones the next. In a draw, "
            "people enter until the opening, and the winners have the seconds to pay: choose some hours."
        ),
    )
    pace = models.PositiveIntegerField(
        _("people a minute"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(UNITS_MAX)],
        help_text=_("How many are let in from the waiting room. Empty: as many as orders and payments can take."),
    )
    published_at = models.DateTimeField(_("published at"), null=True, blank=True, editable=False)
    paused = models.BooleanField(_("paused"), default=False, editable=False)

    objects = MultilingualManager["Sale"]()

    class Meta:
        verbose_name = _("sale")
        verbose_name_plural = _("sales")
        ordering = ["-opens_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                name="seckill_sale_window_forward",
                condition=Q(closes_at__gt=F("opens_at")),
                violation_error_message=_("The sale must close after it opens."),
            ),
            models.CheckConstraint(name="seckill_sale_hold_positive", condition=Q(hold_seconds__gt=0)),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("sale", args=[self.pk])

    def clean(self) -> None:
        if self.opens_at and self.closes_at and self.closes_at <= self.opens_at:
            raise ValidationError({"closes_at": _("The sale must close after it opens.")})

    @property
    def is_published(self) -> bool:
        return self.published_at is not None

    @property
    def has_room(self) -> bool:
        return self.admission == self.Admission.WAITING_ROOM

    @property
    def has_draw(self) -> bool:
        return self.admission == self.Admission.DRAW

    @property
    def last_hold_ends_at(self) -> datetime:
        """A buyer who reserved just before the end has until then to pay. In queries: LAST_HOLD_ENDS_AT."""
        return self.closes_at + timedelta(seconds=self.hold_seconds)

    @property
    def passes_open_at(self) -> datetime:
        """Buyers can get passes, or join the waiting room, from this time until the sale closes."""
        return self.opens_at - timedelta(seconds=settings.SECKILL_PASS_LEAD_SECONDS)

    def why_no_pass(self, now: datetime) -> NoPass | None:
        """Why buyers get no pass at `now`; None while they get one.

        The clock is the web server's: a pass only permits to ask, and the store's clock opens and closes the sale.
        """
        if self.has_draw:
            return NoPass.DRAWN
        if now < self.passes_open_at:
            return NoPass.TOO_EARLY
        return NoPass.CLOSED if now >= self.closes_at else None

    def phase_at(self, now: datetime) -> Phase:
        """The phase according to PostgreSQL. Pending changes do not count yet."""
        return phase_of(opens=self.opens_at, closes=self.closes_at, now=now, paused=self.paused)


LAST_HOLD_ENDS_AT = ExpressionWrapper(
    F("closes_at") + F("hold_seconds") * Value(timedelta(seconds=1)), models.DateTimeField()
)


class WaitingRoom(models.Model):
    """The secret key, and the counts for a store that has lost the room. `early`: came before the opening."""

    sale = models.OneToOneField(Sale, models.CASCADE, primary_key=True, related_name="waiting_room")
    key = models.CharField(max_length=64)
    arrivals = models.PositiveIntegerField(default=0)
    early = models.PositiveIntegerField(null=True)
    called = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return str(self.sale)


class SaleItem(models.Model):
    """One variant of a product in one sale: the unit of atomicity.

    `quantity` null means unlimited. `taken` counts the units of live orders. It changes only in the transaction that
    creates or moves an order, and a constraint keeps it from exceeding `quantity`. `announced_at` is set when the
    reservation store has the terms; they are never sent again. `archived_at` is set when the item has left the store,
    long after its end (seckill/items/archive.py). `from_stock` says that the units came out of the variant's ordinary
    stock, to which the unsold ones return; sales that were published before the shop did this have it False.
    `returned` counts them since the sale last ended, since `quantity` has them no more. `paused` is about the item
    alone: it stays when its sale is paused and resumed. `line_ended_at` is set when those in its waiting list were
    told that nothing came back.
    `incarnation` names the server of the store whose reservations become orders (orders/units/taken.py); empty until
    the item is first compared with its orders: then it is the one that it was published on.
    """

    sale = models.ForeignKey(Sale, models.CASCADE, related_name="items", verbose_name=_("sale"))
    variant = models.ForeignKey(Variant, models.PROTECT, related_name="sale_items", verbose_name=_("product"))
    price_minor = models.PositiveBigIntegerField(_("sale price in minor units"))
    quantity = models.PositiveIntegerField(
        _("quantity"),
        null=True,
        blank=True,
        validators=[
            MinValueValidator(1, _("Enter at least one unit.")),
            MaxValueValidator(UNITS_MAX),
        ],
        help_text=_("Units on sale."),
    )
    per_buyer_max = models.PositiveIntegerField(
        _("units per buyer"),
        default=1,
        validators=[
            MinValueValidator(1, _("A buyer must be allowed at least one unit.")),
            MaxValueValidator(UNITS_MAX),
        ],
    )
    taken = models.PositiveBigIntegerField(_("in orders"), default=0, editable=False)
    announced_at = models.DateTimeField(_("in the reservation store since"), null=True, blank=True, editable=False)

    archived_at = models.DateTimeField(_("archived at"), null=True, blank=True, editable=False)
    returned = models.PositiveIntegerField(_("unsold units returned"), default=0, db_default=0, editable=False)
    from_stock = models.BooleanField(_("from the ordinary stock"), default=False, db_default=False, editable=False)
    paused = models.BooleanField(_("paused"), default=False, db_default=False, editable=False)
    line_ended_at = models.DateTimeField(_("waiting list ended at"), null=True, blank=True, editable=False)
    incarnation = models.CharField(
        _("server of the reservation store"), max_length=64, blank=True, default="", db_default="", editable=False
    )

    class Meta:
        verbose_name = _("sale item")
        verbose_name_plural = _("sale items")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["sale", "variant"],
                name="seckill_saleitem_variant_once",
                violation_error_message=_("This product is already in the sale."),
            ),
            models.CheckConstraint(name="seckill_saleitem_quantity_not_negative", condition=Q(quantity__gte=0)),
            models.CheckConstraint(name="seckill_saleitem_per_buyer_positive", condition=Q(per_buyer_max__gt=0)),
            models.CheckConstraint(
                name="seckill_saleitem_never_oversold",
                condition=Q(quantity=None) | Q(taken__lte=F("quantity")),
            ),
        ]
        indexes = [
            models.Index(name="seckill_saleitem_unannounced", fields=["sale"], condition=Q(announced_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.variant} · {self.sale}"

    @property
    def product(self) -> Product:
        return self.variant.product

    @property
    def offered(self) -> int | None:
        """How many units the sale had, also after its end; None means unlimited."""
        return None if self.quantity is None else self.quantity + self.returned

    @property
    def is_paused(self) -> bool:
        """Whether the item or its sale is paused, according to PostgreSQL."""
        return self.paused or self.sale.paused

    def phase_at(self, now: datetime) -> Phase:
        """The phase according to PostgreSQL. Pending changes do not count yet."""
        return phase_of(opens=self.sale.opens_at, closes=self.sale.closes_at, now=now, paused=self.is_paused)

    def clean(self) -> None:
        errors: dict[str, Any] = {}
        variant = Variant.objects.filter(pk=self.variant_id).first()
        if variant and self.price_minor is not None and self.price_minor > variant.price_minor:
            errors["price_minor"] = [_("The sale price is higher than the product's ordinary price.")]
        # In a form the sale is not saved yet: its window may be missing, or differ from that in the database.
        sale: Sale | None = getattr(self, "sale", None)
        dated = sale is not None and sale.opens_at and sale.closes_at
        if variant and dated and (other := overlapping_item(self)):
            errors["variant"] = [
                _("This product is already in the sale “%(sale)s” at that time.") % {"sale": other.sale}
            ]
        if errors:
            raise ValidationError(errors)


def overlapping_item(item: SaleItem) -> SaleItem | None:
    """An item of another sale with the same variant at the same time, if there is one.

    If a later end of that sale is pending, it counts.
    """
    extended = Q(
        changes__status=SaleChange.Status.PENDING,
        changes__kind=SaleChange.Kind.MOVE_END,
        changes__closes_at__gt=item.sale.opens_at,
    )
    return (
        SaleItem.objects.select_related("sale")
        .filter(
            extended | Q(sale__closes_at__gt=item.sale.opens_at),
            variant_id=item.variant_id,
            sale__opens_at__lt=item.sale.closes_at,
        )
        .exclude(sale_id=item.sale_id)
        .first()
    )


def published_items() -> models.QuerySet[SaleItem]:
    """The items that buyers may see, with their sale and product."""
    return SaleItem.objects.select_related("sale", "variant__product").filter(sale__published_at__isnull=False)


def movable_items() -> models.QuerySet[SaleItem]:
    """The items whose counters can still change: announced, and not closed for longer than a hold can last.

    Items with a pending change count too: staff may move the end of an old sale, and the store accepts that only for a
    verified item. So do items brought back from the archive lately: an interrupted rebuild must be repeated.
    """
    since = Now() - LONGEST_HOLD
    recent = Q(sale__closes_at__gt=since) | Q(announced_at__gt=since)
    waiting = Exists(SaleChange.objects.filter(item=OuterRef("pk"), status=SaleChange.Status.PENDING))
    in_store = SaleItem.objects.filter(announced_at__isnull=False, archived_at=None)
    return in_store.filter(recent | Q(waiting)).order_by("pk")


def reference_of(sale_id: int) -> str:
    """How the stock's journal names a sale."""
    return f"sale {sale_id}"


def with_products() -> "Prefetch[str]":
    """For `prefetch_related` of sales: their items with products, categories and pictures, in two queries."""
    items = SaleItem.objects.select_related("variant__product__category")
    return Prefetch("items", items.prefetch_related("variant__product__pictures"))


def published_sales() -> models.QuerySet[Sale]:
    """The sales that buyers may see."""
    return Sale.objects.filter(published_at__isnull=False)


def listed_sales() -> models.QuerySet[Sale]:
    """The sales on the home page and in the API's list. The others can be reached by their address."""
    return published_sales().filter(listed=True)
