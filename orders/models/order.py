"""An order, and where it is sent."""

import uuid

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.functions import Now, Upper
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from psycopg.errors import UniqueViolation

from orders.guest_links import guest_path
from shop.addresses.address_layout import address_lines

# Letters and digits that cannot be mistaken for each other: no I, O, 0 or 1. PostgreSQL draws them (orders_new_code in
# the migrations): with a million million codes, trying some finds no order.
CODE_LENGTH = 8
BILLING_LENGTH_MAX = 500
VAT_NUMBER_LENGTH_MAX = 20


def digits_of(column: str) -> Func:
    """A phone number without everything else, for search and its index."""
    return Func(F(column), Value(r"\D"), Value(""), Value("g"), function="regexp_replace")


def letters_and_digits_of(column: str) -> Func:
    """A tracking number without spaces and dashes, for search and its index."""
    return Func(Upper(column), Value("[^A-Z0-9]"), Value(""), Value("g"), function="regexp_replace")


class OrderStatus(models.TextChoices):
    """The status of an order; the API uses the same words.

    awaiting_payment → paid | expired | cancelled; paid → shipped → completed. Refunds: paid → refund_due → refunded. A
    payment that arrives after the end: expired → paid if units were left; otherwise expired | cancelled | rejected →
    refund_due → refunded. Intake inserts surplus, and reservations of blocked accounts, as rejected.
    """

    AWAITING_PAYMENT = "awaiting_payment", _("awaiting payment")
    PAID = "paid", _("paid")
    SHIPPED = "shipped", _("shipped")
    COMPLETED = "completed", _("completed")
    EXPIRED = "expired", _("expired")
    CANCELLED = "cancelled", _("cancelled")
    REJECTED = "rejected", _("rejected")
    REFUND_DUE = "refund_due", _("refund on its way")
    REFUNDED = "refunded", _("refunded")


# Paid orders that keep their units.
SOLD = (OrderStatus.PAID, OrderStatus.SHIPPED, OrderStatus.COMPLETED)

# Orders whose money goes back or went back, all of it.
REFUNDS = (OrderStatus.REFUND_DUE, OrderStatus.REFUNDED)

# A payment that arrives for them is refunded, and the order becomes refunded with it; an expired one may be kept.
ENDED_UNPAID = (OrderStatus.EXPIRED, OrderStatus.CANCELLED, OrderStatus.REJECTED)

# Orders that count in SaleItem.taken. Refunded orders count too where `units_back` is False.
LIVE = (OrderStatus.AWAITING_PAYMENT, *SOLD)


class Attention(models.TextChoices):
    """Something unusual that staff can read about an order. ATTENTION_TO_DO has those that a person must act on."""

    LATE_PAYMENT_KEPT = "late_payment_kept", _("paid late, units were left")
    LATE_PAYMENT_REFUNDED = "late_payment_refunded", _("paid late, refunded")
    AMOUNT_DIFFERS = "amount_differs", _("wrong amount paid")
    PAID_TWICE = "paid_twice", _("paid twice, second payment refunded")
    ONE_EACH = "one_each", _("address or card had its purchase already, refunded")
    REFUND_FAILS = "refund_fails", _("refund keeps failing")
    PAYMENT_LOST = "payment_lost", _("paid, but the payment was lost")
    REFUND_LOST = "refund_lost", _("refunded, but the refund was lost")
    REFUND_WITHOUT_PAYMENT = "refund_without_payment", _("refunded, but no payment was reported")
    PAYMENT_UNREPORTED = "payment_unreported", _("paid at the payment company, but not reported")


# The others only tell what happened: the shop has done all there is to do.
ATTENTION_TO_DO = (
    Attention.AMOUNT_DIFFERS,
    Attention.REFUND_FAILS,
    Attention.PAYMENT_LOST,
    Attention.REFUND_LOST,
    Attention.REFUND_WITHOUT_PAYMENT,
    Attention.PAYMENT_UNREPORTED,
)


# Orders that an older release marked as paid, without an invoice. Nothing is refunded of one that ended unpaid.
LACKS_INVOICE = Q(is_invoiced=False) & (
    Q(status__in=["paid", "shipped", "completed"]) | Q(status__in=["refund_due", "refunded"], refunded_minor__gt=0)
)


class Order(models.Model):
    """A purchase. From here on PostgreSQL is the truth.

    `reservation_id` is the hold in the reservation store that this order came from; `expires_at` is the deadline to
    pay. Columns that intake does not name also have defaults in the database, so that a worker of the previous release
    can still insert orders while a new release is rolled out.

    `code` is the short number that people see and say on the phone; `number` identifies it in the API and in links.
    `amount_minor` is what the buyer pays: the lines and the shipping. A guest's order has no `buyer` but an `email`.
    `refunded_minor` is what staff have refunded of it or are refunding; the database keeps it within `amount_minor`.

    `settled_at` is null until the store has been told how the order ended (sold or released); the sweep in
    `orders/life/settlement.py` retries after a crash. `units_back` False means that a refunded order keeps its units:
    they still count in `taken` and stay sold.
    """

    number = models.UUIDField(_("number"), default=uuid.uuid4, unique=True, editable=False)
    code = models.CharField(
        _("order number"),
        max_length=CODE_LENGTH,
        editable=False,
        db_default=Func(function="orders_new_code"),
    )
    reservation_id = models.UUIDField(_("reservation"), unique=True, null=True, blank=True, editable=False)
    buyer = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        related_name="orders",
        verbose_name=_("buyer"),
        null=True,
        blank=True,
        # The index with the time begins with it.
        db_index=False,
    )
    email = models.EmailField(_("e-mail"), blank=True, default="", db_default="")
    # Marks by which unpaid orders of guests are counted (orders/checkout/guest_bounds.py).
    guest_mailbox = models.CharField(max_length=16, blank=True, default="", db_default="", editable=False)
    guest_network = models.CharField(max_length=16, blank=True, default="", db_default="", editable=False)
    language = models.CharField(_("language"), max_length=10, blank=True, default="", db_default="", editable=False)
    status = models.CharField(_("status"), max_length=20, choices=OrderStatus, default=OrderStatus.AWAITING_PAYMENT)
    amount_minor = models.PositiveBigIntegerField(_("amount in minor units"))
    currency = models.CharField(_("currency"), max_length=3)
    shipping_name = models.CharField(_("shipping method"), max_length=200, blank=True, default="", db_default="")
    shipping_minor = models.PositiveBigIntegerField(_("shipping in minor units"), default=0, db_default=0)
    shipping_tax_percent = models.DecimalField(
        _("tax on shipping in percent"), max_digits=5, decimal_places=2, null=True, blank=True
    )
    refunded_minor = models.PositiveBigIntegerField(_("refunded in minor units"), default=0, db_default=0)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    reserved_at = models.DateTimeField(_("reserved at"))
    expires_at = models.DateTimeField(_("to be paid by"))
    ended_at = models.DateTimeField(_("paid or ended at"), null=True, blank=True)
    settled_at = models.DateTimeField(_("stock updated at"), null=True, blank=True)
    units_back = models.BooleanField(_("units back on sale"), default=True, db_default=True)
    attention = models.CharField(
        _("needs attention"), max_length=30, choices=Attention, blank=True, default="", db_default=""
    )
    # By reason, when staff resolved it. What happened before is not listed again (orders/life/attention.py).
    resolved_reasons = models.JSONField(null=True, editable=False)
    buyer_note = models.CharField(_("note from the buyer"), max_length=500, blank=True, default="", db_default="")
    # Of former releases, which had one text for all notes; new ones are rows (`OrderNote`).
    staff_note = models.TextField(_("notes of the staff"), blank=True, default="", db_default="")
    # The lines of name and address, where the invoice has others than the parcel.
    billing_address = models.CharField(
        _("billing address"), max_length=BILLING_LENGTH_MAX, blank=True, default="", db_default=""
    )
    vat_number = models.CharField(
        _("VAT number"), max_length=VAT_NUMBER_LENGTH_MAX, blank=True, default="", db_default=""
    )
    is_invoiced = models.BooleanField(_("has an invoice"), default=False, db_default=False, editable=False)
    carrier = models.CharField(_("carrier"), max_length=100, blank=True, default="", db_default="")
    tracking_number = models.CharField(_("tracking number"), max_length=100, blank=True, default="", db_default="")
    shipped_at = models.DateTimeField(_("shipped at"), null=True, blank=True)

    class Meta:
        verbose_name = _("order")
        verbose_name_plural = _("orders")
        ordering = ["-created_at", "-pk"]
        # For those who pack: to change an order is also to refund it.
        permissions = [("ship_order", "Can ship order")]
        constraints = [
            models.CheckConstraint(name="orders_order_status_known", condition=Q(status__in=OrderStatus.values)),
            models.CheckConstraint(
                name="orders_order_ended_has_time",
                condition=Q(status=OrderStatus.AWAITING_PAYMENT, ended_at=None)
                | (~Q(status=OrderStatus.AWAITING_PAYMENT) & Q(ended_at__isnull=False)),
            ),
            models.CheckConstraint(
                name="orders_order_refund_within_amount", condition=Q(refunded_minor__lte=models.F("amount_minor"))
            ),
            # Not `unique=True`, which makes a second index for LIKE that every order would have to be written to.
            models.UniqueConstraint(fields=["code"], name="orders_order_code_once"),
            models.CheckConstraint(name="orders_order_has_buyer", condition=Q(buyer__isnull=False) | ~Q(email="")),
        ]
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="orders_order_newest"),
            models.Index(fields=["buyer", "-created_at", "-id"], name="orders_order_of_buyer"),
            models.Index(
                fields=["expires_at"],
                name="orders_order_to_expire",
                condition=Q(status=OrderStatus.AWAITING_PAYMENT),
            ),
            models.Index(
                fields=["ended_at"],
                name="orders_order_unsettled",
                condition=Q(settled_at=None) & ~Q(status=OrderStatus.AWAITING_PAYMENT),
            ),
            # A guest's orders are counted, and found, by the address.
            models.Index(Upper("email"), name="orders_order_of_guest", condition=Q(buyer=None)),
            models.Index(
                fields=["guest_network"],
                name="orders_order_unpaid_guests",
                condition=Q(status=OrderStatus.AWAITING_PAYMENT, buyer=None),
            ),
            models.Index(fields=["-id"], name="orders_order_attention", condition=~Q(attention="")),
            models.Index(fields=["ended_at"], name="orders_order_to_invoice", condition=LACKS_INVOICE),
            # The queue of those who pack, oldest first.
            models.Index(fields=["ended_at", "id"], name="orders_order_to_pack", condition=Q(status=OrderStatus.PAID)),
            # For parts of a text, in the search of staff. Neither column is filled by intake.
            GinIndex(
                OpClass(Upper("email"), name="gin_trgm_ops"), name="orders_order_guest_parts", condition=Q(buyer=None)
            ),
            GinIndex(
                OpClass(letters_and_digits_of("tracking_number"), name="gin_trgm_ops"),
                name="orders_order_tracking_parts",
                condition=~Q(tracking_number=""),
            ),
        ]

    def __str__(self) -> str:
        return self.shown_code

    def get_absolute_url(self) -> str:
        """For a guest's order this is the signed link. It is as good as a key, so only the guest gets it."""
        return reverse("order", args=[self.number]) if self.buyer_id else guest_path(self.number)

    @property
    def full_url(self) -> str:
        """The whole address of the order's page, for mails and the API, in the active language."""
        return settings.SHOP_URL + self.get_absolute_url()

    @property
    def pay_path(self) -> str:
        return f"{self.get_absolute_url()}pay/"

    @property
    def cancel_path(self) -> str:
        return f"{self.get_absolute_url()}cancel/"

    @property
    def address_path(self) -> str:
        return f"{self.get_absolute_url()}address/"

    @property
    def invoice_path(self) -> str:
        return f"{self.get_absolute_url()}invoice/"

    @property
    def goods_minor(self) -> int:
        """The price of the lines, without delivery."""
        return self.amount_minor - self.shipping_minor

    @property
    def shown_code(self) -> str:
        """The short number as people read it: K7M2-Q9XT."""
        return f"{self.code[:4]}-{self.code[4:]}"

    @property
    def contents(self) -> str:
        """Units and products: those that the buyer gets. All that was ordered, where all units were refunded."""
        lines = list(self.lines.all())
        left = [f"{line.units_left} × {line.title}" for line in lines if line.units_left]
        return gettext(", ").join(left or map(str, lines))

    @property
    def contact_email(self) -> str:
        """The address for mails about the order: a guest's, or the buyer's present one. Empty if there is none."""
        return self.buyer.email if self.buyer else self.email

    @property
    def purchase(self) -> uuid.UUID:
        """The id of the whole purchase in traces: of the reservation, since that was there before the order."""
        return self.reservation_id or self.number

    @property
    def reserved_by(self) -> int:
        """The id of the buyer, for an order that came from a reservation: guests cannot reserve."""
        assert self.buyer_id is not None
        return self.buyer_id

    @property
    def paid_late(self) -> bool:
        """Whether a payment arrived after the deadline. Still true after staff have marked the order as resolved.

        Of an order that has its money, another payment that goes back does not count.
        """
        if self.attention in (Attention.LATE_PAYMENT_KEPT, Attention.LATE_PAYMENT_REFUNDED):
            return True
        has_money = self.status in SOLD or self.refunded_minor > 0
        not_taken = {refund.payment_id for refund in self.refunds.all() if refund.is_surplus} if has_money else set()
        return any(
            payment.captured_at is not None and payment.captured_at > self.expires_at
            for payment in self.payments.all()
            if payment.status != "failed" and payment.pk not in not_taken
        )

    @property
    def was_charged(self) -> bool:
        """Whether the buyer has paid, even if the order did not take the money."""
        return any(payment.captured_at is not None for payment in self.payments.all())

    @property
    def payment_goes_back(self) -> bool:
        """Whether the whole of a payment is still to be refunded."""
        return any(payment.status == "refund_due" for payment in self.payments.all())

    @property
    def late_payment_undecided(self) -> bool:
        """Whether a late payment was captured and the shop has not decided yet whether units are left for it."""
        return self.status == OrderStatus.EXPIRED and any(
            payment.status == "captured" for payment in self.payments.all()
        )

    @property
    def payment_unknown(self) -> bool:
        """Whether the order ended while the buyer's payment page was open, and the page is not known to be closed."""
        ended = self.status in (OrderStatus.EXPIRED, OrderStatus.CANCELLED)
        return ended and any(payment.page_open for payment in self.payments.all())


def drew_known_code(error: Exception) -> bool:
    """Whether PostgreSQL drew a short number that another order has. It draws another the next time."""
    cause = error.__cause__
    return isinstance(cause, UniqueViolation) and "_code_" in (cause.diag.constraint_name or "")


class ShippingAddress(models.Model):
    """Where an order is sent. `country` is a code of ISO 3166, such as CN."""

    order = models.OneToOneField(
        Order, models.CASCADE, primary_key=True, related_name="shipping_address", verbose_name=_("order")
    )
    name = models.CharField(_("recipient"), max_length=100)
    line1 = models.CharField(_("street and house number"), max_length=200)
    line2 = models.CharField(_("address, second line"), max_length=200, blank=True)
    district = models.CharField(_("district"), max_length=100, blank=True, default="", db_default="")
    city = models.CharField(_("city"), max_length=100)
    region = models.CharField(_("province or state"), max_length=100, blank=True)
    postcode = models.CharField(_("postcode"), max_length=20)
    country = models.CharField(_("country"), max_length=2)
    phone = models.CharField(_("phone"), max_length=30, blank=True)

    class Meta:
        verbose_name = _("shipping address")
        verbose_name_plural = _("shipping addresses")
        indexes = [
            # For the beginning of a name, whatever the database's locale.
            models.Index(OpClass(Upper("name"), name="text_pattern_ops"), name="orders_address_name"),
            GinIndex(OpClass(Upper("name"), name="gin_trgm_ops"), name="orders_address_name_parts"),
            GinIndex(OpClass(digits_of("phone"), name="gin_trgm_ops"), name="orders_address_phone_parts"),
        ]

    def __str__(self) -> str:
        return _(", ").join(self.lines)

    @property
    def lines(self) -> list[str]:
        """As on a parcel."""
        return address_lines(vars(self))
